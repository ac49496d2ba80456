-- Ends sessions of services whose program has stopped in the middle of a transaction: it holds locks,
-- and delays the seal of the audit log, until its session ends. The server waits for such a
-- program to send its next statement or to take what it asked for, and has done so for five seconds
-- since the last one began. Whichever service is alive calls it, for all: of the one that hangs there
-- may be no other replica. So it runs as its owner, and what it ends is for no caller to say.
-- -> a row for each that it ended
CREATE OR REPLACE FUNCTION migration.end_hung_sessions() RETURNS SETOF boolean
LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT pg_terminate_backend(pid)
      FROM pg_stat_activity
     WHERE starts_with(usename, 'conv_') AND datname = current_database()
       AND pid <> pg_backend_pid()
       AND wait_event_type = 'Client' AND wait_event IN ('ClientRead', 'ClientWrite')
       AND greatest(xact_start, query_start) < clock_timestamp() - interval '5 seconds'
       AND xact_start IS NOT NULL
$$;
REVOKE ALL ON FUNCTION migration.end_hung_sessions() FROM PUBLIC;
