-- Bytes of write-ahead log that the other cell has not confirmed yet, up to a position or the current end, and the
-- position that it has confirmed. No row: the slot is gone, or the log that it needs is.
-- $1 organization, $2 the position or null
-- columns: lag wal_end confirmed
SELECT coalesce($2::pg_lsn, pg_current_wal_lsn()) - confirmed_flush_lsn AS lag, pg_current_wal_lsn() AS wal_end,
       confirmed_flush_lsn AS confirmed
  FROM pg_replication_slots
 WHERE slot_name = cell.name_of($1::uuid) AND wal_status IN ('reserved', 'extended')
