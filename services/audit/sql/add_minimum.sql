-- Lengthens how long an organization's entries are kept; returns how long that is now.
--   $1 organization   $2 months
WITH added AS (
  INSERT INTO audit.minimums (organization_id, months)
  VALUES ($1::uuid, $2::integer)
      ON CONFLICT DO NOTHING
)
SELECT $1::uuid AS organization_id,
       greatest($2::integer, (SELECT max(months) FROM audit.minimums
                               WHERE organization_id = $1::uuid)) AS months
