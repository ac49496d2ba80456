-- $1 organization, $2 name, $3 plan, $4 cell -> result, JSON
-- columns: operator.*
WITH created AS (
    INSERT INTO access.organizations (organization_id, name, plan, cell)
    VALUES ($1::uuid, $2, $3, $4)
    RETURNING organization_id AS id, name, plan, rate_limit, cell,
              floor(extract(epoch FROM created_at))::bigint AS created_at
)
SELECT 'ok' AS result, row_to_json(created) AS reply FROM created
