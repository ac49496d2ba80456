-- $1 organization, $2 endpoint: those behind it, $3 most -> sealed secrets, to be re-encrypted; the next one of
--    an endpoint is null where none is being rotated
-- columns: organization_id id secret next_secret
SELECT organization_id, id, encode(substring(secret FROM 1 FOR 256), 'hex') AS secret,
       encode(substring(next_secret FROM 1 FOR 256), 'hex') AS next_secret
  FROM webhook.endpoints
 WHERE (organization_id, id) > ($1::uuid, $2::uuid)
 ORDER BY organization_id, id
 LIMIT $3::bigint
