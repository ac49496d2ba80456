-- One writer at a time works on the queue, over all replicas: what it decides by (slots in use,
-- endpoints that are enabled, rows that wait) holds until its commit. A statement of its own, so that
-- the one behind it sees what the writer before has committed.
SELECT pg_advisory_xact_lock(hashtextextended('webhook.queue', 0))
