-- The newest thousand, and no more of them than fit into one message.
-- -> verdict, JSON array
SELECT 'ok', '[' || coalesce(string_agg(item, ',' ORDER BY created_at DESC, id DESC), '') || ']'
FROM (
    SELECT id, created_at, item,
           sum(octet_length(item)) OVER (ORDER BY created_at DESC, id DESC) AS bytes
    FROM (
        SELECT id, created_at, row_to_json(o)::text AS item
        FROM (
            SELECT organization_id AS id, name, plan, rate_limit,
                   floor(extract(epoch FROM created_at))::bigint AS created_at
            FROM access.organizations
            ORDER BY organizations.created_at DESC, organization_id DESC
            LIMIT 1000
        ) o
    ) items
) measured
WHERE bytes < 900000
