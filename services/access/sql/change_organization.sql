-- $1 organization, $2 plan or null, $3 rate limit or null -> verdict, JSON
WITH changed AS (
    UPDATE access.organizations
    SET plan = coalesce($2, plan), rate_limit = coalesce($3::integer, rate_limit)
    WHERE organization_id = $1::uuid
    RETURNING organization_id AS id, name, plan, rate_limit,
              floor(extract(epoch FROM created_at))::bigint AS created_at
)
SELECT 'ok', row_to_json(changed) FROM changed
