-- $1 organization, $2 endpoint: those behind it, $3 most -> sealed secrets, to be re-encrypted
-- columns: organization_id id secret
SELECT organization_id, id, encode(substring(secret FROM 1 FOR 256), 'hex') AS secret
  FROM webhook.endpoints
 WHERE (organization_id, id) > ($1::uuid, $2::uuid)
 ORDER BY organization_id, id
 LIMIT $3::bigint
