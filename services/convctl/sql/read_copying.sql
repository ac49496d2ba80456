-- Whether all tables are copied, and how often copying or following has failed.   $1 organization
-- columns: is_copied failures
SELECT coalesce(bool_and(r.srsubstate = 'r'), false) AS is_copied,
       coalesce(max(s.apply_error_count + s.sync_error_count), 0) AS failures
  FROM pg_subscription p
  LEFT JOIN pg_subscription_rel r ON r.srsubid = p.oid
  LEFT JOIN pg_stat_subscription_stats s ON s.subid = p.oid
 WHERE p.subname = audit.move_name($1::uuid)
