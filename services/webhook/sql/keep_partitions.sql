-- Makes the log's partitions ahead, drops old ones; returns how many were made, how many were
-- dropped, and how many deliveries lie in none.
SELECT made, dropped, stray FROM webhook.keep_partitions()
