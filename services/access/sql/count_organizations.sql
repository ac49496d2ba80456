-- $1 only those on this plan, or null: all of them -> result, JSON
SELECT 'ok', row_to_json(counted)
FROM (
    SELECT count(*) AS count
    FROM access.organizations
    WHERE $1::text IS NULL OR plan = $1
) counted
