-- For the statements of this connection from now on.   $1 milliseconds, 0 = none
-- columns: timeout
SELECT set_config('statement_timeout', $1::text, false) AS timeout
