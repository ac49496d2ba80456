-- The state of a copy: whether all tables are copied, and how often copying or following has failed. `progress` is a
-- text that changes as long as the copy makes progress: it covers the tables' states and rows and, once all tables
-- are copied, how far the subscription has followed. Also whether a worker follows, and how many tables are copied.
-- $1 organization
-- columns: is_copied failures progress is_followed copied tables
SELECT coalesce(bool_and(r.srsubstate = 'r'), false) AS is_copied,
       coalesce(max(s.apply_error_count + s.sync_error_count), 0) AS failures,
       md5(concat(string_agg(concat_ws(' ', r.srrelid, r.srsubstate, r.srsublsn, c.tuples_processed,
                                       c.bytes_processed, w.received_lsn),
                             ',' ORDER BY r.srrelid),
                  CASE WHEN bool_and(r.srsubstate NOT IN ('i', 'd')) THEN max(a.received_lsn) END)) AS progress,
       count(a.pid) > 0 AS is_followed,
       count(*) FILTER (WHERE r.srsubstate = 'r') AS copied,
       count(r.srrelid) AS tables
  FROM pg_subscription p
  LEFT JOIN pg_subscription_rel r ON r.srsubid = p.oid
  LEFT JOIN pg_stat_subscription w ON w.subid = p.oid AND w.relid = r.srrelid
  LEFT JOIN pg_stat_progress_copy c ON c.pid = w.pid
  LEFT JOIN pg_stat_subscription a ON a.subid = p.oid AND a.relid IS NULL
  LEFT JOIN pg_stat_subscription_stats s ON s.subid = p.oid
 WHERE p.subname = audit.move_name($1::uuid)
