-- How the new cell follows the old one: whether a worker does, how often one has failed, and what it has received.
-- $1 organization
-- columns: is_followed failures received
SELECT a.pid IS NOT NULL AS is_followed, coalesce(s.apply_error_count, 0) AS failures, a.received_lsn AS received
  FROM pg_subscription p
  LEFT JOIN pg_stat_subscription a ON a.subid = p.oid AND a.relid IS NULL
  LEFT JOIN pg_stat_subscription_stats s ON s.subid = p.oid
 WHERE p.subname = cell.name_of($1::uuid)
