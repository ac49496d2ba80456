-- Records which heads are published now.
--   $1 organizations   $2 numbers   $3 transactions   $4 hashes
INSERT INTO audit.heads (organization_id, number, last_xid, block_hash)
SELECT organization_id, number, last_xid, decode(block_hash, 'hex')
  FROM unnest($1::uuid[], $2::bigint[], $3::xid8[], $4::text[])
       AS head (organization_id, number, last_xid, block_hash)
