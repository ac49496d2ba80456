-- The replication slots for which the server keeps most of its write-ahead log.
--   $1 rows at most
-- columns: slot bytes
SELECT slot_name AS slot,
       greatest(0, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn))::bigint AS bytes
  FROM pg_replication_slots
 WHERE restart_lsn IS NOT NULL
 ORDER BY bytes DESC, slot_name
 LIMIT $1::bigint
