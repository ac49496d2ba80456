-- How many seconds the oldest event has waited to be fanned out, the health of enabled endpoints,
-- and how many retries wait for them. Thresholds as in webhook.shown().
-- columns: age healthy degraded failing retries
SELECT (SELECT greatest(0, coalesce(extract(epoch FROM now() - min(created_at)), 0))::bigint
          FROM webhook.events
         WHERE NOT dispatched) AS age,
       count(*) FILTER (WHERE consecutive_failures < 2) AS healthy,
       count(*) FILTER (WHERE consecutive_failures BETWEEN 2 AND 4) AS degraded,
       count(*) FILTER (WHERE consecutive_failures >= 5) AS failing,
       coalesce(sum(retries_waiting), 0)::bigint AS retries
  FROM webhook.endpoints
 WHERE enabled
