-- Lets the seal go on with organizations that are open again because nobody went on with their move. Only with
-- the lock of sealing, which is tried for again here, for both are in one pipeline.
-- columns: opened
SELECT CASE WHEN pg_try_advisory_xact_lock(hashtextextended('audit.seal', 0)) THEN audit.move_expire() END AS opened
