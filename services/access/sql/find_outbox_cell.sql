-- A cell that has changes that are due, except for those that are given: $1 cells.
-- columns: cell
SELECT waiting.cell
  FROM access.outbox_cells AS waiting
 CROSS JOIN LATERAL (SELECT FROM access.outbox
                      WHERE organization_id = waiting.organization_id AND due_at <= now()
                      LIMIT 1) AS due
 WHERE waiting.cell <> ALL ($1::text[])
 LIMIT 1
