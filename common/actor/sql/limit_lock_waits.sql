-- Until the end of this transaction, how long a statement waits for a lock.   $1 milliseconds
-- columns: timeout
SELECT set_config('lock_timeout', $1, true) AS timeout
