-- Drops the slots through which tables were being copied. Fails if one is still in use.   $1 names, for LIKE
-- columns: dropped
SELECT count(pg_drop_replication_slot(slot_name)) AS dropped
  FROM pg_replication_slots
 WHERE slot_name LIKE $1::text
