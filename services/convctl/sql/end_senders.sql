-- Ends what sends to a server that is lost: its slots cannot be dropped while they are in use. Other moves there
-- are lost with it.   $1 organization
-- columns: ended
SELECT count(pg_terminate_backend(s.active_pid)) AS ended
  FROM pg_replication_slots s
  LEFT JOIN pg_publication p ON p.pubname = audit.move_name($1::uuid)
 WHERE s.active_pid IS NOT NULL
   AND (s.slot_name = audit.move_name($1) OR s.slot_name LIKE obj_description(p.oid, 'pg_publication'))
