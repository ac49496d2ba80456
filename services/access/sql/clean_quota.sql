-- Forgets windows that nobody counts in any more.
-- $1 the oldest period to keep
DELETE FROM access.quota WHERE period < $1::bigint
