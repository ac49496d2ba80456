-- What the new cell's server has too little of. It needs a worker to follow, and a replication origin; there may be as
-- many origins as slots. Workers of parallel queries are not counted, since they end by themselves.
-- columns: setting needed free
SELECT setting, needed, greatest(free, 0) AS free
  FROM (VALUES ('max_logical_replication_workers', 1,
                current_setting('max_logical_replication_workers')::bigint
                  - (SELECT count(*) FROM pg_stat_activity
                      WHERE backend_type LIKE 'logical replication%worker')),
               ('max_worker_processes', 1,
                current_setting('max_worker_processes')::bigint
                  - (SELECT count(*) FROM pg_stat_activity
                      WHERE backend_type NOT IN
                            ('archiver', 'autovacuum launcher', 'autovacuum worker',
                             'background writer', 'checkpointer', 'client backend',
                             'parallel worker', 'startup', 'walreceiver', 'walsender',
                             'walwriter'))),
               ('max_replication_slots', 1,
                current_setting('max_replication_slots')::bigint
                  - (SELECT count(*) FROM pg_replication_origin_status))) AS had (setting, needed, free)
 WHERE free < needed
