-- Ends the processes that send to a lost server: slots in use cannot be dropped. This also ends other moves to that
-- server.   $1 organization
-- columns: ended
SELECT count(pg_terminate_backend(s.active_pid)) AS ended
  FROM pg_replication_slots s
  LEFT JOIN pg_publication p ON p.pubname = audit.move_name($1::uuid)
 WHERE s.active_pid IS NOT NULL
   AND (s.slot_name = audit.move_name($1) OR s.slot_name LIKE obj_description(p.oid, 'pg_publication'))
