-- Resumes sealing for organizations that are open again because their move was not continued in
-- time. Needs the lock of lock_sealing.sql and tries it again, because both statements are in one
-- pipeline.
-- columns: opened
SELECT CASE WHEN audit.lock_sealing() THEN cell.expire() END AS opened
