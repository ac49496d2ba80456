-- The cells of the setting and those that organizations are in, each with the oldest hundred moves
-- from it.
-- $1 names from the setting -> result, JSON array, by name
-- columns: operator.*
SELECT 'ok' AS result, json_agg(json_build_object(
           'name', name, 'organizations', n,
           'moves', (SELECT coalesce(json_agg(access.shown(m) ORDER BY started_at), '[]')
                       FROM (SELECT * FROM access.moves WHERE from_cell = name
                              ORDER BY started_at LIMIT 100) AS m)) ORDER BY name) AS reply
FROM (
    SELECT coalesce(known.name, found.cell) AS name, coalesce(found.n, 0) AS n
    FROM unnest($1::text[]) AS known (name)
    FULL JOIN (SELECT cell, count(*) AS n FROM access.organizations GROUP BY cell) AS found
      ON found.cell = known.name
) AS cells
