-- Whether anything was ever applied here.
-- columns: is_there
SELECT to_regclass('migration.applied') IS NOT NULL AS is_there
