-- Drops the slots through which tables were being copied to a lost server. Fails if one of them is in use.
-- $1 organization
-- columns: dropped
SELECT count(pg_drop_replication_slot(s.slot_name)) AS dropped
  FROM pg_publication p
  JOIN pg_replication_slots s ON s.slot_name LIKE obj_description(p.oid, 'pg_publication')
 WHERE p.pubname = audit.move_name($1::uuid)
