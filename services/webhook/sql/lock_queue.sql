-- Only one transaction at a time, over all replicas, changes the queue: what it bases its decisions
-- on (slots in use, enabled endpoints, waiting rows) holds until its commit. A separate statement,
-- so that the next statement's snapshot shows what the previous holder has committed.
-- columns: nothing
SELECT webhook.lock_queue() AS nothing
