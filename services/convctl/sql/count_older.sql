-- Counts transactions of services that began before a moment, and so may not see what was committed then.
-- $1 the moment
-- columns: n
SELECT count(*) AS n
  FROM pg_stat_activity
 WHERE xact_start <= $1::timestamptz AND usename LIKE 'conv\_%' AND backend_type = 'client backend'
   AND datname = current_database()
