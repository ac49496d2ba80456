-- A LIKE pattern for the slots, on other servers, through which tables are copied to this one.
-- columns: slots
SELECT format('pg\_%%\_sync\_%%\_%s', system_identifier) AS slots FROM pg_control_system()
