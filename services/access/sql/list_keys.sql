-- Up to two hundred keys, newest first, at most 360 KB: a batch of such lists is in memory at once.
-- Ids are ordered by time.
-- $1 organization, $2 only those before this key, or null -> result, JSON array; no row: no such
-- organization
-- columns: operator.*
WITH keys AS (
    SELECT api_key_id AS id, name, scope, prefix, last_four,
           floor(extract(epoch FROM created_at))::bigint AS created_at,
           floor(extract(epoch FROM expires_at))::bigint AS expires_at,
           floor(extract(epoch FROM revoked_at))::bigint AS revoked_at,
           floor(extract(epoch FROM last_used_at))::bigint AS last_used_at
    FROM access.api_keys
    WHERE organization_id = $1::uuid
      AND api_key_id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    ORDER BY api_key_id DESC
    LIMIT 200
)
SELECT 'ok' AS result,
       (SELECT coalesce(json_agg(row_to_json(keys) ORDER BY id DESC), '[]') FROM keys) AS reply
FROM access.organizations
WHERE organization_id = $1::uuid
