-- $1 organization, $2 plan or null, $3 rate limit or null, $4 whether it goes back to the default
-- -> verdict, JSON
WITH changed AS (
    UPDATE access.organizations
    SET plan = coalesce($2, plan),
        rate_limit = CASE WHEN $4::boolean THEN NULL ELSE coalesce($3::integer, rate_limit) END
    WHERE organization_id = $1::uuid
    RETURNING organization_id AS id, name, plan, rate_limit,
              floor(extract(epoch FROM created_at))::bigint AS created_at
)
SELECT 'ok', row_to_json(changed) FROM changed
