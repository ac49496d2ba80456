-- Makes one of the log's days ahead, or drops one that is old -> how many were made, how many were
-- dropped, how many deliveries lie in none, and whether others were in the way.
-- columns: made dropped stray busy
SELECT made, dropped, stray, busy FROM webhook.keep_partitions()
