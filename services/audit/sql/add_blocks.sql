-- Appends blocks, one array for each column: enum block_column in seal_step.c. A number that is
-- taken fails the transaction.
--   $14 ids of all blocks' entries, block by block, uuid[]  $15 their hashes, bytea, 32 bytes each
-- A block has the entries from `first` to `last`, counted from 1.
INSERT INTO audit.blocks (organization_id, number, previous_hash, entries, last_xid, last_request_id,
                          made_xid, made_at, request_ids, entry_hashes, block_hash, key_id,
                          signature, implausible, implausible_times)
SELECT organization_id, number, decode(previous_hash, 'hex'), entries, last_xid, last_request_id,
       made_xid, audit.at(made_us), ($14::uuid[])[first:last],
       substr($15::bytea, 32 * (first - 1) + 1, 32 * (last - first + 1)),
       decode(block_hash, 'hex'), key_id, decode(signature, 'hex'), implausible::integer[],
       ARRAY(SELECT audit.at(us) FROM unnest(implausible_us::bigint[]) WITH ORDINALITY
               AS mark (us, nth) ORDER BY nth)
  FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::xid8[], $6::uuid[],
              $7::xid8[], $8::bigint[], $9::integer[], $10::integer[], $11::text[], $12::text[],
              $13::text[], $16::text[], $17::text[])
       AS block (organization_id, number, previous_hash, entries, last_xid, last_request_id,
                 made_xid, made_us, first, last, block_hash, key_id, signature, implausible,
                 implausible_us)
 ORDER BY organization_id, number
