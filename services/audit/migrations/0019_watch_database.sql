-- What the metrics show of the whole server (docs/alerts.md), in one row. It runs as its owner, because other roles do
-- not see the sessions of others: only a superuser and members of pg_monitor do. If the owner is neither, figures of
-- sessions and of the archive's backlog are those of an idle server.
--   next_transaction    the number of the next transaction, with its epoch
--   oldest_transaction  what was deleted by this one or a later one, no vacuum can remove: a session, a prepared
--                       transaction, a slot or a standby may still read it. Sessions that run VACUUM hold nothing up
--   snapshot_seconds    how long the oldest of these sessions and prepared transactions has lasted
--   unfrozen            how many transactions, or multixacts, old the oldest rows are that are not frozen; of all databases
--   archive_fails       the last attempt to archive a segment of the write-ahead log failed
--   archive_waiting     segments that wait to be archived
--   moves_abandoned     moves of organizations that have begun and are not over, and that no call of `convctl cell move`
--                       holds the lock of (services/convctl/sql/lock_move.sql)
CREATE FUNCTION audit.watch_database(OUT next_transaction bigint, OUT oldest_transaction bigint,
                                     OUT snapshot_seconds bigint, OUT unfrozen bigint, OUT archive_fails boolean,
                                     OUT archive_waiting bigint, OUT moves_abandoned bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  held xid[];
BEGIN
  next_transaction := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  SELECT array_agg(holder.xid), coalesce(extract(epoch FROM clock_timestamp() - min(holder.since)), 0)
    INTO held, snapshot_seconds
    FROM (SELECT unnest(ARRAY[backend_xmin, backend_xid]) AS xid, xact_start AS since
            FROM pg_stat_activity
           WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datid IS NULL)
             AND pid NOT IN (SELECT vacuum.pid FROM pg_stat_progress_vacuum AS vacuum)
          UNION ALL
          SELECT unnest(ARRAY[xmin, catalog_xmin]), NULL FROM pg_replication_slots
          UNION ALL
          SELECT transaction, prepared FROM pg_prepared_xacts WHERE database = current_database()) AS holder
   WHERE holder.xid IS NOT NULL;
  -- Numbers without an epoch, compared as PostgreSQL does; a session may have begun a moment ago.
  SELECT next_transaction - coalesce(max(behind) FILTER (WHERE behind < 2147483648), 0) INTO oldest_transaction
    FROM (SELECT (next_transaction - xid::text::bigint) & 4294967295 AS behind FROM unnest(held) AS xid) AS compared;

  SELECT max(greatest(age(datfrozenxid), mxid_age(datminmxid))) INTO unfrozen FROM pg_database;

  archive_waiting := 0;
  SELECT current_setting('archive_mode') <> 'off'
         AND last_failed_time > coalesce(last_archived_time, '-infinity') IS TRUE
    INTO archive_fails FROM pg_stat_archiver;
  IF has_function_privilege('pg_ls_archive_statusdir()', 'EXECUTE') THEN
    SELECT count(*) INTO archive_waiting FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready';
  END IF;

  SELECT count(*) INTO moves_abandoned
    FROM (SELECT organization_id::text AS organization FROM audit.moving WHERE state <> 'gone'
          UNION
          SELECT substr(pubname, length('move_') + 1)::uuid::text FROM pg_publication
           WHERE pubname ~ '^move_[0-9a-f]{32}$') AS moved
   WHERE NOT EXISTS (SELECT FROM pg_locks
                      WHERE locktype = 'advisory' AND objsubid = 1
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                        AND (classid::bigint << 32 | objid::bigint)
                            = hashtextextended('audit.move ' || organization, 0));
END
$$;
REVOKE ALL ON FUNCTION audit.watch_database() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.watch_database() TO conv_audit;
