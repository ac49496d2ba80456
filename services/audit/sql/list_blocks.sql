-- The next blocks of a chain, with as many entries as one step takes, and what was published of
-- them. list_block_entries.sql takes the same ones.
--   $1 organization   $2 behind this number   $3 entries, about
-- Blocks are looked up one by one and in order (LIMIT 1), which leaves the planner one index only: a
-- join would read all of a chain for each step.
WITH next AS (
  SELECT number, entries, min(number) OVER () AS first
    FROM (SELECT number, entries
            FROM audit.blocks
           WHERE organization_id = $1::uuid AND number > $2::bigint
           ORDER BY number
           LIMIT 100) AS near
)
SELECT block.number,
       encode(block.previous_hash, 'hex') AS previous_hash,
       block.entries,
       block.last_xid,
       block.last_request_id,
       block.made_xid,
       CASE WHEN isfinite(block.made_at)
            THEN (extract(epoch FROM block.made_at) * 1000000)::bigint END AS made_us,
       block.key_id,
       encode(block.block_hash, 'hex') AS block_hash,
       encode(block.signature, 'hex') AS signature,
       array_to_string(block.request_ids, ',') AS request_ids,
       encode(block.entry_hashes, 'hex') AS entry_hashes,
       (SELECT encode(head.block_hash, 'hex')
          FROM audit.heads AS head
         WHERE head.organization_id = $1::uuid AND head.number = block.number) AS published_hash
  FROM next
 CROSS JOIN LATERAL (SELECT *
                       FROM audit.blocks
                      WHERE organization_id = $1::uuid AND number >= next.number
                      ORDER BY number
                      LIMIT 1) AS block
 WHERE next.number = next.first
    OR next.entries - (SELECT entries FROM next WHERE number = first) < $3::bigint
 ORDER BY block.number
