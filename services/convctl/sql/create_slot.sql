-- Creates the slot. Needs its own transaction: one that has written cannot create a slot.   $1 organization
-- columns: created
SELECT count(pg_create_logical_replication_slot(audit.move_name($1::uuid), 'pgoutput')) AS created
 WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = audit.move_name($1::uuid))
