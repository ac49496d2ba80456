-- Deletes windows that are over.
-- $1 the oldest period to keep, $2 older ones are deleted already: an old snapshot keeps them
DELETE FROM access.quota WHERE period < $1::bigint AND period >= $2::bigint
