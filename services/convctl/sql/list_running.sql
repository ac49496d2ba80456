-- The transactions of services that run now, and so may not see what has been committed just now. By number and not by
-- time: a clock may be set.
-- columns: running
SELECT coalesce(array_agg(l.virtualxid), '{}') AS running
  FROM pg_locks l
  JOIN pg_stat_activity s USING (pid)
 WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.granted AND s.usename LIKE 'conv\_%'
   AND s.datname = current_database()
