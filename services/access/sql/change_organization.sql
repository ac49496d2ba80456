-- $1 organization, $2 plan or null, $3 rate limit or null, $4 whether the rate limit returns to the
-- default
-- -> result (ok, same), JSON; no row: no such organization
-- columns: operator.*
WITH found AS (
    SELECT plan, rate_limit
    FROM access.organizations
    WHERE organization_id = $1::uuid
    FOR NO KEY UPDATE
), changed AS (
    UPDATE access.organizations o
    SET plan = coalesce($2, found.plan),
        rate_limit =
            CASE WHEN $4::boolean THEN NULL ELSE coalesce($3::integer, found.rate_limit) END
    FROM found
    WHERE o.organization_id = $1::uuid
    RETURNING o.organization_id AS id, o.name, o.plan, o.rate_limit, o.cell,
              floor(extract(epoch FROM o.created_at))::bigint AS created_at
)
SELECT CASE WHEN (changed.plan, changed.rate_limit)
                     IS NOT DISTINCT FROM (found.plan, found.rate_limit) THEN 'same'
            ELSE 'ok'
       END AS result,
       row_to_json(changed) AS reply
FROM found, changed
