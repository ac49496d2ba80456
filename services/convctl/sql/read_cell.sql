-- The state in a cell of an organization that is to be moved, and the settings that a move needs.
-- $1 organization
-- columns: wal_level state has_rows is_followed has_slot is_published number partitions dropped
SELECT current_setting('wal_level') AS wal_level,
       (SELECT state FROM cell.moves WHERE organization_id = $1::uuid) AS state,
       EXISTS (SELECT FROM audit.entries WHERE organization_id = $1)
         OR EXISTS (SELECT FROM audit.changes WHERE organization_id = $1)
         OR EXISTS (SELECT FROM conversation.contacts WHERE organization_id = $1)
         OR EXISTS (SELECT FROM webhook.endpoints WHERE organization_id = $1) AS has_rows,
       EXISTS (SELECT FROM pg_subscription
                WHERE subname = cell.name_of($1) AND subenabled) AS is_followed,
       EXISTS (SELECT FROM pg_replication_slots
                WHERE slot_name = cell.name_of($1)) AS has_slot,
       EXISTS (SELECT FROM pg_publication WHERE pubname = cell.name_of($1)) AS is_published,
       audit.number_of(pg_snapshot_xmax(pg_current_snapshot())) AS number,
       cell.partitions() AS partitions,
       (SELECT coalesce(array_agg(until ORDER BY until), '{}') FROM audit.dropped) AS dropped
