-- Moves of organizations between cells that are under way, and how far each has come. After `switching` there is
-- only one way: on.
CREATE TABLE access.moves (
  organization_id uuid PRIMARY KEY REFERENCES access.organizations,
  from_cell text NOT NULL,
  to_cell text NOT NULL CHECK (to_cell ~ '^[a-z][a-z0-9]{0,15}$' AND to_cell <> from_cell),
  step text NOT NULL CHECK (step IN ('copying', 'switching', 'switched')),
  started_at timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, DELETE, UPDATE (step) ON access.moves TO conv_access;

CREATE FUNCTION access.shown(m access.moves) RETURNS json
LANGUAGE sql STABLE
RETURN CASE WHEN m.organization_id IS NOT NULL THEN
         json_build_object('organization', m.organization_id, 'from', m.from_cell, 'to', m.to_cell, 'step', m.step,
                           'started_at', floor(extract(epoch FROM m.started_at))::bigint)
       END;

-- The organizations whose changes wait for the log, with the cells to which these go, in order; without those
-- that are switching to another cell, whose changes wait. It goes from organization to organization by the key,
-- and no further than its reader does, so that it reads few of the many rows of a cell that takes none.
CREATE VIEW access.outbox_cells AS
WITH RECURSIVE waiting AS (
  (SELECT organization_id FROM access.outbox ORDER BY organization_id LIMIT 1)
  UNION ALL
  SELECT (SELECT next.organization_id FROM access.outbox AS next
           WHERE next.organization_id > waiting.organization_id ORDER BY next.organization_id LIMIT 1)
    FROM waiting WHERE waiting.organization_id IS NOT NULL
)
SELECT waiting.organization_id,
       coalesce((SELECT o.cell FROM access.organizations AS o
                  WHERE o.organization_id = waiting.organization_id), 'main') AS cell
  FROM waiting
 WHERE waiting.organization_id IS NOT NULL
   AND NOT EXISTS (SELECT FROM access.moves AS m
                    WHERE m.organization_id = waiting.organization_id AND m.step = 'switching');
GRANT SELECT ON access.outbox_cells TO conv_access;
