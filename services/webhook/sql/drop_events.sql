-- Deletes events that have no deliveries in the log.
-- $1 how many at most
-- columns: dropped
SELECT webhook.drop_events($1::integer) AS dropped
