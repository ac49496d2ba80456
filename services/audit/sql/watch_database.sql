-- The state of the server, for metrics; audit.watch_database() says what each figure is.
-- columns: next_transaction oldest_transaction snapshot_seconds unfrozen archive_fails archive_waiting moves_abandoned
SELECT next_transaction, oldest_transaction, snapshot_seconds, unfrozen, archive_fails, archive_waiting,
       moves_abandoned
  FROM audit.watch_database()
