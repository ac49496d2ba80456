-- Records a step of a move. A step follows the one before it, or itself; `switched` moves the
-- organization and its changes in the outbox to the other cell, and from then on the move cannot be aborted. Conflict: the move
-- is at another step, there is no move, or there is another one.
-- $1 organization, $2 step, $3 the other cell (only for copying)
-- -> result (ok, conflict), JSON; no row: no such organization
-- columns: operator.*
WITH found AS MATERIALIZED (
    SELECT o.organization_id, o.cell, m.step, m.from_cell, m.to_cell
    FROM access.organizations o
    LEFT JOIN access.moves m ON m.organization_id = o.organization_id
    WHERE o.organization_id = $1::uuid
    FOR NO KEY UPDATE OF o
), allowed AS (
    SELECT *
    FROM found
    WHERE CASE $2::text
            WHEN 'copying' THEN $3::text <> cell AND (step IS NULL OR (step = 'copying' AND to_cell = $3))
            WHEN 'aborted' THEN step IN ('copying', 'switching')
            WHEN 'switching' THEN step IN ('copying', 'switching')
            WHEN 'switched' THEN step IN ('switching', 'switched')
            WHEN 'done' THEN step = 'switched'
          END
), begun AS (
    INSERT INTO access.moves (organization_id, from_cell, to_cell, step)
    SELECT organization_id, cell, $3, 'copying' FROM allowed WHERE $2 = 'copying' AND step IS NULL
), ended AS (
    DELETE FROM access.moves
    WHERE organization_id IN (SELECT organization_id FROM allowed WHERE $2 IN ('aborted', 'done'))
), set AS (
    UPDATE access.moves m SET step = $2
    FROM allowed
    WHERE m.organization_id = allowed.organization_id AND $2 IN ('switching', 'switched')
    RETURNING m.*
), switched AS (
    UPDATE access.organizations o SET cell = set.to_cell
    FROM set
    WHERE o.organization_id = set.organization_id AND set.step = 'switched' AND o.cell <> set.to_cell
), relabelled AS (
    UPDATE access.outbox AS change SET cell = set.to_cell
    FROM set
    WHERE change.organization_id = set.organization_id AND set.step = 'switched'
)
SELECT CASE WHEN allowed.organization_id IS NULL THEN 'conflict' ELSE 'ok' END AS result,
       json_build_object('id', found.organization_id, 'step', $2) AS reply
FROM found LEFT JOIN allowed USING (organization_id)
