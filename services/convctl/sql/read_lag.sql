-- Bytes of the write-ahead log that the other cell has not taken over yet, up to a place or the present end, and
-- how far it has. No row: the slot has gone, or what it needs.
-- $1 organization, $2 the place or null
-- columns: lag wal_end confirmed
SELECT coalesce($2::pg_lsn, pg_current_wal_lsn()) - confirmed_flush_lsn AS lag, pg_current_wal_lsn() AS wal_end,
       confirmed_flush_lsn AS confirmed
  FROM pg_replication_slots
 WHERE slot_name = audit.move_name($1::uuid) AND wal_status IN ('reserved', 'extended')
