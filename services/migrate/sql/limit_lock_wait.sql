-- $1 how long to wait for any lock, for example '5s'
-- columns: timeout
SELECT set_config('lock_timeout', $1, false) AS timeout
