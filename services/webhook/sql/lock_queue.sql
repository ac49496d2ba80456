-- One writer at a time works on the queue, over all replicas: what it decides by (slots in use,
-- endpoints that are enabled, rows that wait) holds until its commit. A separate statement, so that the
-- next one sees what the previous writer has committed.
-- columns: nothing
SELECT pg_advisory_xact_lock(hashtextextended('webhook.queue', 0)) AS nothing
