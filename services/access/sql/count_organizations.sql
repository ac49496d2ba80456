-- $1 only those on this plan, or null: all of them -> result, JSON
-- columns: operator.*
SELECT 'ok' AS result, row_to_json(counted) AS reply
FROM (
    SELECT count(*) AS count
    FROM access.organizations
    WHERE $1::text IS NULL OR plan = $1
) counted
