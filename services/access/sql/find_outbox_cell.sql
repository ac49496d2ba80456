-- A cell that has changes that are due, except for those that are given: $1 cells. It goes from cell to
-- cell by outbox_by_cell, the only index with that order, and leaves out organizations that are switching to another one.
-- columns: cell
WITH RECURSIVE waiting AS (
    (SELECT cell FROM access.outbox ORDER BY cell LIMIT 1)
    UNION ALL
    SELECT (SELECT next.cell FROM access.outbox AS next
             WHERE next.cell > waiting.cell ORDER BY next.cell LIMIT 1)
      FROM waiting
     WHERE waiting.cell IS NOT NULL
)
SELECT waiting.cell
  FROM waiting
 CROSS JOIN LATERAL (SELECT FROM access.outbox AS change
                      WHERE change.cell BETWEEN waiting.cell AND waiting.cell
                        AND change.due_at <= now()
                        AND NOT EXISTS (SELECT FROM access.moves AS m
                                         WHERE m.organization_id = change.organization_id
                                           AND m.step = 'switching')
                      ORDER BY change.cell, change.organization_id, change.id
                      LIMIT 1) AS due
 WHERE waiting.cell <> ALL ($1::text[])
 LIMIT 1
