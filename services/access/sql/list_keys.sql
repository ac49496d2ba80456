-- The newest thousand, and no more of them than fit into one message.
-- $1 organization -> verdict, JSON array; no row: no such organization
WITH keys AS (
    SELECT api_key_id AS id, name, scope, prefix, last_four,
           floor(extract(epoch FROM created_at))::bigint AS created_at,
           floor(extract(epoch FROM expires_at))::bigint AS expires_at,
           floor(extract(epoch FROM revoked_at))::bigint AS revoked_at,
           floor(extract(epoch FROM last_used_at))::bigint AS last_used_at
    FROM access.api_keys
    WHERE organization_id = $1::uuid
    ORDER BY api_keys.created_at DESC, api_key_id DESC
    LIMIT 1000
), items AS (
    SELECT id, created_at, row_to_json(keys)::text AS item FROM keys
), measured AS (
    SELECT id, created_at, item,
           sum(octet_length(item)) OVER (ORDER BY created_at DESC, id DESC) AS bytes
    FROM items
)
SELECT 'ok',
       (SELECT '[' || coalesce(string_agg(item, ',' ORDER BY created_at DESC, id DESC), '') || ']'
        FROM measured
        WHERE bytes < 900000)
FROM access.organizations
WHERE organization_id = $1::uuid
