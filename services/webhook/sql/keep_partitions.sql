-- Creates one of the log's daily partitions ahead, or drops an old one -> how many were created,
-- how many were dropped, how many deliveries are in the default partition, whether locks were in
-- the way.
-- columns: made dropped stray busy
SELECT made, dropped, stray, busy FROM webhook.keep_partitions()
