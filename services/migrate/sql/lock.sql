-- Held until the session ends, so that one program at a time migrates this database.
SELECT pg_advisory_lock(hashtextextended('conversations: migrate', 0))
