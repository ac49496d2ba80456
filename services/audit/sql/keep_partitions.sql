-- Creates the audit log's partitions ahead; returns how many were missing.
-- columns: made
SELECT audit.keep_partitions() AS made
