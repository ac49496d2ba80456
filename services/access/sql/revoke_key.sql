-- Revoking again changes nothing.
-- $1 organization, $2 key -> verdict, JSON; no row: no such key
WITH revoked AS (
    UPDATE access.api_keys
    SET revoked_at = coalesce(revoked_at, now())
    WHERE organization_id = $1::uuid AND api_key_id = $2::uuid
    RETURNING api_key_id AS id, name, scope, prefix, last_four,
              floor(extract(epoch FROM created_at))::bigint AS created_at,
              floor(extract(epoch FROM expires_at))::bigint AS expires_at,
              floor(extract(epoch FROM revoked_at))::bigint AS revoked_at
)
SELECT 'ok', row_to_json(revoked) FROM revoked
