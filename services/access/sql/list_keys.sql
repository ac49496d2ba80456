-- The newest thousand, and no more of them than fit into one message. Ids are in the order of time.
-- $1 organization, $2 those before this key or null -> verdict, JSON array; no row: no such
-- organization
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
    LIMIT 1000
), items AS (
    SELECT id, row_to_json(keys)::text AS item FROM keys
), measured AS (
    SELECT id, item, sum(octet_length(item)) OVER (ORDER BY id DESC) AS bytes
    FROM items
)
SELECT 'ok',
       (SELECT '[' || coalesce(string_agg(item, ',' ORDER BY id DESC), '') || ']'
        FROM measured
        WHERE bytes < 900000)
FROM access.organizations
WHERE organization_id = $1::uuid
