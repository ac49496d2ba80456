-- A row for each session of a service that was ended, because its program has stopped in the middle of
-- a transaction.
-- columns: session
SELECT migration.end_hung_sessions() AS session
