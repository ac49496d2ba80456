-- Whether any migration has been applied to this database.
-- columns: is_there
SELECT to_regclass('migration.applied') IS NOT NULL AS is_there
