-- $1 organization, $2 key, $3 token's hash in hex, $4 name, $5 scope, $6 prefix, $7 last four,
-- $8 seconds until it expires or null
-- -> result, JSON; no row: no such organization
-- columns: operator.*
WITH created AS (
    INSERT INTO access.api_keys (organization_id, api_key_id, token_hash, name, scope, prefix,
                                 last_four, expires_at)
    SELECT organization_id, $2::uuid, decode($3, 'hex'), $4, $5, $6, $7,
           date_trunc('second', now()) + $8::bigint * interval '1 second'
    FROM access.organizations
    WHERE organization_id = $1::uuid
    RETURNING api_key_id AS id, name, scope, prefix, last_four,
              floor(extract(epoch FROM created_at))::bigint AS created_at,
              floor(extract(epoch FROM expires_at))::bigint AS expires_at
)
SELECT 'ok' AS result, row_to_json(created) AS reply FROM created
