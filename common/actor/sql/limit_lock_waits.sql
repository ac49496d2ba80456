-- Sets how long a statement waits for a lock, until the end of this transaction.   $1 milliseconds
-- columns: timeout
SELECT set_config('lock_timeout', $1, true) AS timeout
