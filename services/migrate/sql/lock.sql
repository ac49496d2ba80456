-- Held until the session ends, so that only one program at a time migrates this database. The
-- caller retries it: a statement that waits for it would delay an index that is being built
-- concurrently.
-- columns: is_held
SELECT pg_try_advisory_lock(hashtextextended('conversations: migrate', 0)) AS is_held
