-- The cell of an organization, and the move that is under way, or null.
-- $1 organization -> result, JSON; no row: no such organization
-- columns: operator.*
SELECT 'ok' AS result, row_to_json(answer) AS reply
FROM (
    SELECT o.organization_id AS id, o.cell, access.shown(m) AS move
    FROM access.organizations o
    LEFT JOIN access.moves m ON m.organization_id = o.organization_id
    WHERE o.organization_id = $1::uuid
) answer
