-- The last blocks of chains that have grown since their heads were published, in the order of
-- sealing.   $1 rows at most
-- Blocks are asked for in the order of their index, which leaves the planner no other.
WITH grown AS (
  SELECT DISTINCT organization_id
    FROM (SELECT organization_id
            FROM audit.blocks
           WHERE last_xid >= coalesce((SELECT last_xid FROM audit.heads
                                        ORDER BY last_xid DESC LIMIT 1), '0'::xid8)
           ORDER BY last_xid, organization_id, number
          OFFSET 0) AS since
)
SELECT head.organization_id, head.number, head.entries, head.last_xid,
       encode(head.block_hash, 'hex') AS block_hash,
       CASE WHEN isfinite(head.made_at)
            THEN (extract(epoch FROM head.made_at) * 1000000)::bigint END AS made_us,
       head.key_id, encode(head.signature, 'hex') AS signature
  FROM grown
 CROSS JOIN LATERAL (SELECT *
                       FROM audit.blocks AS block
                      WHERE block.organization_id = grown.organization_id
                      ORDER BY number DESC
                      LIMIT 1) AS head
  LEFT JOIN LATERAL (SELECT true AS is_published
                       FROM audit.heads AS published
                      WHERE published.organization_id = head.organization_id
                        AND published.number = head.number
                      LIMIT 1) AS published ON true
 WHERE published.is_published IS NULL
 ORDER BY head.last_xid, head.organization_id
 LIMIT $1::bigint
