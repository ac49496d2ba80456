-- The next blocks downwards in the order of sealing, of all organizations.
--   $1 $2 $3 below this place: transaction, organization, number   $4 rows at most
-- columns: organization_id head.*
SELECT organization_id,
       number,
       entries,
       encode(substr(block_hash, 1, 33), 'hex') AS block_hash,
       audit.us(made_at) AS made_us,
       left(key_id, 65) AS key_id,
       encode(substr(signature, 1, 65), 'hex') AS signature,
       last_xid
  FROM audit.blocks
 WHERE (last_xid, organization_id, number) < ($1::xid8, $2::uuid, $3::bigint)
 ORDER BY last_xid DESC, organization_id DESC, number DESC
 LIMIT $4::bigint
