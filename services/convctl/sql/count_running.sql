-- How many of these transactions still run.   $1 from list_running.sql
-- columns: n
SELECT count(*) AS n
  FROM pg_locks
 WHERE locktype = 'virtualxid' AND mode = 'ExclusiveLock' AND granted AND virtualxid = ANY ($1::text[])
