-- The next entries of an organization, each with the block that names it or else the block that
-- covers its place; whether that block names it, has a mark for it, or names its id with another
-- time; and whether its transaction has yet to begin.
--   $1 organization   $2 $3 from this place on: a time and a request id, inclusive
--   $4 rows at most
-- If the block that covers an entry does not name it, one of the next few may: a foreign block can
-- lie between.
-- columns: request_id xid created_us at number is_sealed is_marked is_known is_ahead
-- columns: is_moving
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
     AND (entry.created_at, entry.request_id) >= ($2::timestamptz, $3::uuid)
   ORDER BY entry.created_at, entry.request_id
   LIMIT $4::bigint
), named AS MATERIALIZED (
  SELECT covering.number, item.request_id, item.at IS NOT NULL AS is_marked,
         coalesce(item.at, audit.time_of(item.request_id)) AS created_at
    FROM (SELECT DISTINCT number FROM page WHERE number IS NOT NULL) AS covering
   CROSS JOIN LATERAL (SELECT request_ids, implausible, implausible_times
                         FROM audit.blocks
                        WHERE organization_id = $1::uuid AND number >= covering.number
                        ORDER BY number
                        LIMIT 1) AS block
   CROSS JOIN LATERAL (SELECT item.request_id, mark.at
                         FROM (SELECT *
                                 FROM unnest(CASE WHEN cardinality(block.request_ids) <= 1000
                                                   AND cardinality(block.implausible) <= 1000
                                                  THEN block.request_ids END)
                                      WITH ORDINALITY AS named (request_id, place)
                                WHERE request_id IN (SELECT request_id FROM page)
                               OFFSET 0) AS item
                         FULL JOIN unnest(block.implausible, block.implausible_times)
                              AS mark (place, at) ON mark.place = item.place
                       OFFSET 0) AS item
   WHERE item.request_id IS NOT NULL
)
SELECT page.request_id,
       page.xid,
       audit.us(page.created_at) AS created_us,
       CASE WHEN page.created_at BETWEEN '1970-01-01 00:00+00' AND '10900-01-01 00:00+00'
            THEN (page.created_at AT TIME ZONE 'UTC')::text || '+00'
            ELSE page.created_at::text END AS at,
       coalesce(later.number, page.number, 0) AS number,
       coalesce(named.number, later.number) IS NOT NULL AS is_sealed,
       coalesce(named.is_marked, later.is_marked, false) AS is_marked,
       CASE WHEN named.number IS NULL AND later.number IS NULL
            THEN EXISTS (SELECT FROM named AS other
                          WHERE other.number = page.number
                            AND other.request_id = page.request_id)
            ELSE false END AS is_known,
       coalesce(page.xid >= (SELECT audit.number_of(pg_snapshot_xmax(pg_current_snapshot()))),
                false) AS is_ahead,
       EXISTS (SELECT FROM cell.moves
                WHERE organization_id = $1::uuid AND state <> 'leaving') AS is_moving
  FROM page
  LEFT JOIN named ON named.number = page.number AND named.request_id = page.request_id
                 AND named.created_at = page.created_at
  LEFT JOIN LATERAL (SELECT near.number, mark.at IS NOT NULL AS is_marked
                       FROM (SELECT number, request_ids, implausible, implausible_times
                               FROM audit.blocks AS block
                              WHERE block.organization_id = $1::uuid
                                AND (block.last_xid, block.last_request_id) >=
                                    (page.xid, page.request_id)
                              ORDER BY block.last_xid, block.last_request_id
                             OFFSET 1 LIMIT 4) AS near
                      CROSS JOIN LATERAL (SELECT place
                                            FROM unnest(near.request_ids) WITH ORDINALITY
                                                 AS item (request_id, place)
                                           WHERE item.request_id = page.request_id
                                           LIMIT 1) AS item
                       LEFT JOIN LATERAL (SELECT at
                                            FROM unnest(near.implausible, near.implausible_times)
                                                 AS mark (place, at)
                                           WHERE mark.place = item.place
                                           LIMIT 1) AS mark ON true
                      WHERE named.number IS NULL AND page.number IS NOT NULL
                        AND cardinality(near.request_ids) <= 1000
                        AND cardinality(near.implausible) <= 1000
                        AND page.created_at = coalesce(mark.at, audit.time_of(page.request_id))
                      LIMIT 1) AS later ON true
 ORDER BY page.created_at, page.request_id
