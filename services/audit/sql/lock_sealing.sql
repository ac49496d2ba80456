-- Only one process seals at a time; the others try again later. Held until the transaction ends.
-- columns: is_first
SELECT pg_try_advisory_xact_lock(hashtextextended('audit.seal', 0)) AS is_first
