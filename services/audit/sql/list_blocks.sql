-- The next blocks of a chain, with about as many entries as one step takes, and the hashes that
-- were published of them. list_block_entries.sql takes the same blocks.
--   $1 organization   $2 after this number   $3 about how many entries
-- Blocks are looked up one by one, in order (LIMIT 1), which leaves the planner only one index: a
-- join would read the whole chain for each step. The size of a block's ids tells how many entries
-- it has, without reading them. Values longer than those of our blocks are not read, which makes
-- the block malformed.
-- columns: verify.* published_hash
WITH next AS (
  SELECT number, before, first
    FROM (SELECT number,
                 min(number) OVER () AS first,
                 sum(size) OVER (ORDER BY number) - size AS before
            FROM (SELECT number, pg_column_size(request_ids) / 16 AS size
                    FROM audit.blocks
                   WHERE organization_id = $1::uuid AND number > $2::bigint
                     AND number <= 9007199254740992
                   ORDER BY number
                   LIMIT 100) AS near) AS counted
)
SELECT block.number,
       encode(substr(block.previous_hash, 1, 33), 'hex') AS previous_hash,
       block.entries,
       block.last_xid,
       block.last_request_id,
       block.made_xid,
       audit.us(block.made_at) AS made_us,
       left(block.key_id, 65) AS key_id,
       encode(substr(block.block_hash, 1, 33), 'hex') AS block_hash,
       encode(substr(block.signature, 1, 65), 'hex') AS signature,
       CASE WHEN cardinality(block.request_ids) <= 1000 AND array_ndims(block.request_ids) = 1
            THEN array_to_string(block.request_ids, ',') END AS request_ids,
       CASE WHEN octet_length(block.entry_hashes) <= 32000
            THEN encode(block.entry_hashes, 'hex') END AS entry_hashes,
       CASE WHEN cardinality(block.implausible) <= 1000
             AND coalesce(array_ndims(block.implausible), 1) = 1
            THEN array_to_string(block.implausible, ',') ELSE '-' END AS implausible_places,
       CASE WHEN cardinality(block.implausible_times) <= 1000
             AND coalesce(array_ndims(block.implausible_times), 1) = 1
            THEN (SELECT string_agg(audit.us(at), ',' ORDER BY nth)
                    FROM unnest(block.implausible_times) WITH ORDINALITY AS mark (at, nth))
            ELSE '-' END AS implausible_us,
       (SELECT encode(substr(head.block_hash, 1, 33), 'hex')
          FROM audit.heads AS head
         WHERE head.organization_id = $1::uuid AND head.number = block.number
         LIMIT 1) AS published_hash
  FROM next
 CROSS JOIN LATERAL (SELECT *
                       FROM audit.blocks
                      WHERE organization_id = $1::uuid AND number >= next.number
                      ORDER BY number
                      LIMIT 1) AS block
 WHERE next.number = next.first OR next.before < $3::bigint
 ORDER BY block.number
