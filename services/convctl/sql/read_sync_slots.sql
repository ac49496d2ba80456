-- Slots at other servers by which tables are copied to this one have names like this.
-- columns: slots
SELECT format('pg\_%%\_sync\_%%\_%s', system_identifier) AS slots FROM pg_control_system()
