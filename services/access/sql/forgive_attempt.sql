-- The attempt was right, and does not count.
-- $1 SHA-256 of what is counted in hex, $2 minute
UPDATE access.attempts SET attempts = attempts - 1
WHERE counted = decode($1, 'hex') AND minute = $2::bigint
