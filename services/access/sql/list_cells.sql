-- The cells: those of the setting, and those that organizations are in.
-- $1 names of the setting -> result, JSON array, by name
-- columns: operator.*
SELECT 'ok' AS result, json_agg(json_build_object('name', name, 'organizations', n) ORDER BY name) AS reply
FROM (
    SELECT coalesce(known.name, found.cell) AS name, coalesce(found.n, 0) AS n
    FROM unnest($1::text[]) AS known (name)
    FULL JOIN (SELECT cell, count(*) AS n FROM access.organizations GROUP BY cell) AS found
      ON found.cell = known.name
) AS cells
