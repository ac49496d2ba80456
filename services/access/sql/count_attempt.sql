-- Counts an attempt before it is known how it ends: whoever tries the same at the same time waits
-- for this row, and no more attempts get through than are allowed.
-- $1 SHA-256 of what is counted in hex, $2 minute -> attempts in it, this one included
INSERT INTO access.attempts AS a (counted, minute, attempts)
VALUES (decode($1, 'hex'), $2::bigint, 1)
ON CONFLICT (counted, minute) DO UPDATE SET attempts = a.attempts + 1
RETURNING attempts
