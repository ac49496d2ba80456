-- Ends the sessions of services whose program hangs in a transaction, or that have held one for too
-- long: a row for each, or a single one with null. Each has the time by the server's clock, in Unix
-- milliseconds.
-- columns: now_ms session
SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms, ended.session
  FROM (SELECT) AS once
  LEFT JOIN migration.end_hung_sessions() AS ended (session) ON true
