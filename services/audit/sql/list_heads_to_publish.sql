-- The last blocks of chains that have grown since their heads were published, in the order of
-- sealing, each with the number of the last published head; only of organizations that this cell
-- serves.
--   $1 rows at most   $2 $3 after this place: transaction and organization
-- Blocks are read in the order of their index, which leaves the planner no other. Blocks beyond the
-- horizon are from another server. Heads that were published in another cell are no measure of how far
-- they are published here.
-- columns: organization_id head.* published
WITH grown AS (
  SELECT DISTINCT organization_id
    FROM (SELECT organization_id
            FROM audit.blocks
           WHERE last_xid >= coalesce((SELECT last_xid FROM audit.heads
                                        WHERE last_xid < (SELECT audit.horizon())
                                          AND last_xid > (SELECT audit.here_above())
                                        ORDER BY last_xid DESC LIMIT 1), '0'::xid8)
             AND last_xid < (SELECT audit.horizon())
           ORDER BY last_xid, organization_id, number
          OFFSET 0) AS since
)
SELECT head.organization_id, head.number, head.entries,
       encode(substr(head.block_hash, 1, 33), 'hex') AS block_hash,
       audit.us(head.made_at) AS made_us,
       left(head.key_id, 65) AS key_id,
       encode(substr(head.signature, 1, 65), 'hex') AS signature,
       head.last_xid,
       coalesce((SELECT published.number
                   FROM audit.heads AS published
                  WHERE published.organization_id = head.organization_id
                    AND published.number < head.number
                  ORDER BY published.number DESC
                  LIMIT 1), 0) AS published
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
   AND head.organization_id NOT IN (SELECT organization_id FROM cell.closed)
   AND (head.last_xid, head.organization_id) > ($2::xid8, $3::uuid)
 ORDER BY head.last_xid, head.organization_id
 LIMIT $1::bigint
