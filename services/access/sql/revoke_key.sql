-- Revokes a key; revoking it again changes nothing.
-- $1 organization, $2 key -> result (ok, same), JSON; no row: no such key
-- columns: operator.*
WITH found AS (
    SELECT revoked_at
    FROM access.api_keys
    WHERE organization_id = $1::uuid AND api_key_id = $2::uuid
    FOR NO KEY UPDATE
), revoked AS (
    UPDATE access.api_keys k
    SET revoked_at = coalesce(found.revoked_at, now())
    FROM found
    WHERE k.organization_id = $1::uuid AND k.api_key_id = $2::uuid
    RETURNING k.api_key_id AS id, name, scope, prefix, last_four,
              floor(extract(epoch FROM created_at))::bigint AS created_at,
              floor(extract(epoch FROM expires_at))::bigint AS expires_at,
              floor(extract(epoch FROM k.revoked_at))::bigint AS revoked_at
)
SELECT CASE WHEN found.revoked_at IS NULL THEN 'ok' ELSE 'same' END AS result,
       row_to_json(revoked) AS reply
FROM found, revoked
