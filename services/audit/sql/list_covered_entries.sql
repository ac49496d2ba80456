-- The next entries of an organization, each with the block in whose reach it lies, whether that
-- block names it, and whether its transaction has yet to begin.
--   $1 organization   $2 $3 behind this place: Unix microseconds (NULL = from the
--   beginning) and request id   $4 rows at most
WITH page AS MATERIALIZED (
  SELECT entry.request_id, entry.xid, entry.created_at,
         (SELECT block.number
            FROM audit.blocks AS block
           WHERE block.organization_id = $1::uuid
             AND (block.last_xid, block.last_request_id) >= (entry.xid, entry.request_id)
           ORDER BY block.last_xid, block.last_request_id
           LIMIT 1) AS number
    FROM audit.entries AS entry
   WHERE entry.organization_id = $1::uuid
     AND (entry.created_at, entry.request_id) >
         (coalesce('epoch'::timestamptz + $2::bigint * interval '1 microsecond', '-infinity'),
          $3::uuid)
   ORDER BY entry.created_at, entry.request_id
   LIMIT $4::bigint
), named AS MATERIALIZED (
  SELECT covering.number, unnest(block.request_ids) AS request_id
    FROM (SELECT DISTINCT number FROM page WHERE number IS NOT NULL) AS covering
   CROSS JOIN LATERAL (SELECT request_ids
                         FROM audit.blocks
                        WHERE organization_id = $1::uuid AND number >= covering.number
                        ORDER BY number
                        LIMIT 1) AS block
)
SELECT page.request_id,
       page.xid,
       CASE WHEN isfinite(page.created_at)
            THEN (extract(epoch FROM page.created_at) * 1000000)::bigint END AS created_us,
       coalesce(page.number, 0) AS number,
       named.request_id IS NOT NULL AS is_sealed,
       page.xid >= pg_snapshot_xmax(pg_current_snapshot()) AS is_ahead
  FROM page
  LEFT JOIN named ON named.number = page.number AND named.request_id = page.request_id
 ORDER BY page.created_at, page.request_id
