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
