-- The last block of a chain.   $1 organization
SELECT number,
       entries,
       encode(block_hash, 'hex') AS block_hash,
       CASE WHEN isfinite(made_at) THEN floor(extract(epoch FROM made_at))::bigint END AS made_at,
       key_id,
       encode(signature, 'hex') AS signature
  FROM audit.blocks
 WHERE organization_id = $1::uuid
 ORDER BY number DESC
 LIMIT 1
