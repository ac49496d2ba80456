-- How many changes wait for the log, counted up to 10,000; for how many seconds the oldest has
-- waited; and how many are set aside, counted up to 10,000.
-- columns: waiting age set_aside
SELECT (SELECT count(*)
          FROM (SELECT FROM access.outbox WHERE refusal IS NULL LIMIT 10000) AS counted) AS waiting,
       (SELECT greatest(0, coalesce(extract(epoch FROM now() - min(created_at)), 0))::bigint
          FROM access.outbox
         WHERE refusal IS NULL) AS age,
       (SELECT count(*)
          FROM (SELECT FROM access.outbox WHERE refusal IS NOT NULL LIMIT 10000) AS counted)
           AS set_aside
