-- -> whether anything was ever applied here
SELECT to_regclass('migration.applied') IS NOT NULL
