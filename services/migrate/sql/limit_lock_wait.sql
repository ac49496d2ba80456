-- $1 how long any lock may be waited for: '5s'
-- columns: timeout
SELECT set_config('lock_timeout', $1, false) AS timeout
