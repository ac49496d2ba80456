-- Ends the sessions of services whose program hangs in a transaction; one row for each.
-- columns: session
SELECT migration.end_hung_sessions() AS session
