-- The newest thousand, and no more of them than fit into one message. Ids are in the order of time.
-- $1 those before this organization or null -> verdict, JSON array
SELECT 'ok', '[' || coalesce(string_agg(item, ',' ORDER BY id DESC), '') || ']'
FROM (
    SELECT id, item, sum(octet_length(item)) OVER (ORDER BY id DESC) AS bytes
    FROM (
        SELECT id, row_to_json(o)::text AS item
        FROM (
            SELECT organization_id AS id, name, plan, rate_limit,
                   floor(extract(epoch FROM created_at))::bigint AS created_at
            FROM access.organizations
            WHERE organization_id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
            ORDER BY organization_id DESC
            LIMIT 1000
        ) o
    ) items
) measured
WHERE bytes < 900000
