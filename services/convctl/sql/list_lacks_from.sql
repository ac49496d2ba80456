-- What the old cell's server has too little of. It needs a walsender and a slot to follow the changes.
-- $1 organization, whose slot may already exist
-- columns: setting needed free
SELECT setting, needed, greatest(free, 0) AS free
  FROM (VALUES ('max_wal_senders', 1,
                current_setting('max_wal_senders')::bigint
                  - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender')),
               ('max_replication_slots', 1,
                current_setting('max_replication_slots')::bigint
                  - (SELECT count(*) FROM pg_replication_slots
                      WHERE slot_name <> cell.name_of($1::uuid)))) AS had (setting, needed, free)
 WHERE free < needed
