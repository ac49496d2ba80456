-- Ends the process that sends to a lost server: a slot in use cannot be dropped.   $1 organization
-- columns: ended
SELECT count(pg_terminate_backend(active_pid)) AS ended
  FROM pg_replication_slots
 WHERE active_pid IS NOT NULL AND slot_name = cell.name_of($1::uuid)
