-- How large the database is on the server's disk, without the write-ahead log.
-- columns: bytes
SELECT pg_database_size(current_database()) AS bytes
