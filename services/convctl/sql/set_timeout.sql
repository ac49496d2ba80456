-- Sets the timeout of all further statements of this connection.   $1 milliseconds, 0 = none
-- columns: timeout
SELECT set_config('statement_timeout', $1::text, false) AS timeout
