-- The last block of a chain up to a number.   $1 organization   $2 the number
-- columns: head.*
SELECT number,
       entries,
       encode(substr(block_hash, 1, 33), 'hex') AS block_hash,
       audit.us(made_at) AS made_us,
       left(key_id, 65) AS key_id,
       encode(substr(signature, 1, 65), 'hex') AS signature,
       last_xid
  FROM audit.blocks
 WHERE organization_id = $1::uuid AND number <= $2::bigint
 ORDER BY number DESC
 LIMIT 1
