-- Held until the session ends, so that one program at a time migrates this database. Tried again and
-- again: waiting for it inside a statement would delay an index that is built concurrently.
-- columns: is_held
SELECT pg_try_advisory_lock(hashtextextended('conversations: migrate', 0)) AS is_held
