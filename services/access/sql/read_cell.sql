-- $1 organization -> result, JSON; no row: no such organization
-- columns: operator.*
SELECT 'ok' AS result, row_to_json(o) AS reply
FROM (
    SELECT organization_id AS id, cell
    FROM access.organizations
    WHERE organization_id = $1::uuid
) o
