-- The twenty most used keys, with their requests in each step.
-- $1 organization, $2 first minute, $3 the minute after the last, $4 minutes in a step,
-- $5 minutes that a stored row covers: 1 or 15, $6 rate limit if the organization has not set one
-- -> result, JSON array; no row: no such organization
-- columns: operator.*
WITH busiest AS (
    SELECT api_key_id, sum(allowed + denied + rejected + error + limited) AS n
    FROM access.usage_by($5::integer)
    WHERE organization_id = $1::uuid AND minute >= $2::bigint AND minute < $3::bigint
    GROUP BY api_key_id
    ORDER BY n DESC, api_key_id
    LIMIT 20
), steps AS (
    SELECT api_key_id, minute / $4::bigint AS step,
           sum(allowed + denied + rejected + error + limited) AS n
    FROM access.usage_by($5::integer)
    WHERE organization_id = $1::uuid AND minute >= $2::bigint AND minute < $3::bigint
      AND api_key_id IN (SELECT api_key_id FROM busiest)
    GROUP BY 1, 2
), points AS (
    SELECT busiest.api_key_id, busiest.n, json_agg(coalesce(steps.n, 0) ORDER BY step) AS points
    FROM busiest
    CROSS JOIN generate_series($2::bigint / $4::bigint, ($3::bigint - 1) / $4::bigint) AS step
    LEFT JOIN steps USING (api_key_id, step)
    GROUP BY busiest.api_key_id, busiest.n
)
SELECT 'ok' AS result,
       (SELECT coalesce(json_agg(json_build_object(
                   'id', k.api_key_id, 'name', k.name,
                   'limit_per_minute', coalesce(o.rate_limit, $6::bigint) * 6,
                   'points', points.points) ORDER BY points.n DESC, k.api_key_id), '[]'::json)
        FROM points
        JOIN access.api_keys k ON k.organization_id = $1::uuid
                              AND k.api_key_id = points.api_key_id) AS reply
FROM access.organizations o
WHERE o.organization_id = $1::uuid
