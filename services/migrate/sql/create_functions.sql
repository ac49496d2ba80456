-- Ends sessions of services whose program hangs in the middle of a transaction: such a session
-- holds locks and delays the seal of the audit log. The server waits for the program to send a
-- statement or to read its results, and the last statement began more than five seconds ago.
-- Also ends sessions of services whose transaction is a minute old, whatever they do: none of our
-- programs takes half of that, and what such a transaction holds keeps others waiting. Not one that
-- is committed and waits for a standby. Every
-- live service calls this for all services, because the one that hangs may have no other replica.
-- So it runs as its owner, and the caller cannot choose which sessions it ends.
-- -> a row for each session that it ended, with the program's name; null for one that was gone
CREATE OR REPLACE FUNCTION migration.end_hung_sessions() RETURNS SETOF text
-- Each session plans it once. A function in SQL would be planned in every call, which takes 0.7 ms.
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT CASE WHEN pg_terminate_backend(pid)
                THEN format('%s at %s, backend %s', application_name,
                            coalesce(host(client_addr) || ':' || client_port, 'a local socket'), pid)
           END
      FROM pg_stat_activity
     WHERE starts_with(usename, 'conv_') AND datname = current_database()
       AND pid <> pg_backend_pid()
       AND (wait_event_type = 'Client' AND wait_event IN ('ClientRead', 'ClientWrite')
            AND greatest(xact_start, query_start) < clock_timestamp() - interval '5 seconds'
            OR wait_event IS DISTINCT FROM 'SyncRep'
            AND xact_start < clock_timestamp() - interval '60 seconds')
       AND xact_start IS NOT NULL;
END
$$;
REVOKE ALL ON FUNCTION migration.end_hung_sessions() FROM PUBLIC;
