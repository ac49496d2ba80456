-- Locks the move until the connection ends. True: no other call for the organization is running.   $1 organization
-- columns: is_alone
SELECT pg_try_advisory_lock(hashtextextended('cell.move ' || $1::text, 0)) AS is_alone
