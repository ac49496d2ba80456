-- $1 the oldest minute to keep, $2 older ones are deleted already: an old snapshot keeps them
DELETE FROM access.attempts WHERE minute < $1::bigint AND minute >= $2::bigint
