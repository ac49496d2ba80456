-- $1 organization -> result, JSON
-- columns: operator.*
SELECT 'ok' AS result, row_to_json(o) AS reply
FROM (
    SELECT organization_id AS id, name, plan, rate_limit, cell,
           floor(extract(epoch FROM created_at))::bigint AS created_at
    FROM access.organizations
    WHERE organization_id = $1::uuid
) o
