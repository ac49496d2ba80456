-- $1 the oldest minute to keep
DELETE FROM access.attempts WHERE minute < $1::bigint
