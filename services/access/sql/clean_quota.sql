-- Deletes windows that are over.
-- $1 the oldest period to keep
DELETE FROM access.quota WHERE period < $1::bigint
