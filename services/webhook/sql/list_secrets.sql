-- Sealed secrets, to be re-encrypted; next_secret is null unless a rotation is under way.
-- $1 organization and $2 endpoint to begin after, $3 how many at most
-- columns: organization_id id secret next_secret
SELECT organization_id, id, encode(substring(secret FROM 1 FOR 256), 'hex') AS secret,
       encode(substring(next_secret FROM 1 FOR 256), 'hex') AS next_secret
  FROM webhook.endpoints
 WHERE (organization_id, id) > ($1::uuid, $2::uuid)
 ORDER BY organization_id, id
 LIMIT $3::bigint
