-- How long the oldest event has waited to be fanned out, in seconds, and how the endpoints that are
-- enabled fare. Thresholds as in webhook.shown().
SELECT (SELECT greatest(0, coalesce(extract(epoch FROM now() - min(created_at)), 0))::bigint
          FROM webhook.events
         WHERE NOT dispatched),
       count(*) FILTER (WHERE consecutive_failures < 2),
       count(*) FILTER (WHERE consecutive_failures BETWEEN 2 AND 4),
       count(*) FILTER (WHERE consecutive_failures >= 5)
  FROM webhook.endpoints
 WHERE enabled
