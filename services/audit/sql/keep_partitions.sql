-- Makes the audit log's partitions ahead; returns how many were missing.
SELECT audit.keep_partitions()
