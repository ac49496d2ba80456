-- The oldest open transaction of those that a new slot waits for: all that have written, in any database of the
-- server. A prepared transaction has no process.   $1 minimum age in seconds
-- columns: pid age_s name
SELECT coalesce(pid::text, 'none') AS pid,
       floor(extract(epoch FROM clock_timestamp() - since))::bigint AS age_s, name
  FROM (SELECT pid, xact_start AS since, coalesce(nullif(application_name, ''), backend_type) AS name
          FROM pg_stat_activity
         WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
         UNION ALL
        SELECT NULL, prepared, 'prepared transaction ' || gid
          FROM pg_prepared_xacts) AS open
 WHERE since <= clock_timestamp() - $1::integer * interval '1 second'
 ORDER BY since
 LIMIT 1
