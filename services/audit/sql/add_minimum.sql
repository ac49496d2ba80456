-- Raises the minimum number of months that an organization's entries are kept; returns the minimum
-- as it is now, and whether it was shorter before.
--   $1 organization   $2 months
-- columns: organization_id months was_shorter
WITH before AS (
  SELECT coalesce(max(months), 0) AS months
    FROM audit.minimums
   WHERE organization_id = $1::uuid
), added AS (
  INSERT INTO audit.minimums (organization_id, months)
  SELECT $1, $2::integer
    FROM before
   WHERE $2 > months
      ON CONFLICT DO NOTHING
)
SELECT $1 AS organization_id, greatest($2, months) AS months, $2 > months AS was_shorter
  FROM before
