-- Moves attempted deliveries from the queue to the log and counts them for their endpoints. What
-- another claim has overtaken meanwhile is left alone.
--
--   1 JSON array of objects, in the order in which the attempts ended
-- -> how many were settled
WITH told AS MATERIALIZED (
  SELECT *
    FROM ROWS FROM (jsonb_to_recordset($1::jsonb)
           AS (organization_id uuid, endpoint_id uuid, id uuid, fence bigint, state text,
               error text, http_status smallint, started_ms bigint, finished_ms bigint,
               dns_us integer, connect_us integer, tls_us integer, wait_us integer,
               total_us integer, address text, excerpt text)) WITH ORDINALITY
         AS t (organization_id, endpoint_id, id, fence, state, error, http_status, started_ms,
               finished_ms, dns_us, connect_us, tls_us, wait_us, total_us, address, excerpt, n)
), done AS (
  DELETE FROM webhook.queue q
   USING told t
   WHERE q.organization_id = t.organization_id AND q.endpoint_id = t.endpoint_id AND q.id = t.id
     AND q.fence = t.fence
  RETURNING q.organization_id, q.endpoint_id, q.id, q.event_id, q.event_type, q.cause,
            q.previous_id, q.created_at
), settled AS MATERIALIZED (
  SELECT d.*, t.state, t.error, t.http_status, to_timestamp(t.started_ms / 1000.0) AS started_at,
         to_timestamp(t.finished_ms / 1000.0) AS finished_at, t.dns_us, t.connect_us, t.tls_us,
         t.wait_us, t.total_us, t.address, t.excerpt, t.n,
         max(t.n) FILTER (WHERE t.state = 'succeeded')
           OVER (PARTITION BY d.organization_id, d.endpoint_id) AS last_success,
         max(t.n) FILTER (WHERE t.state = 'failed')
           OVER (PARTITION BY d.organization_id, d.endpoint_id) AS last_failure
    FROM done d
    JOIN told t ON t.organization_id = d.organization_id AND t.id = d.id
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, state, error, http_status,
                                  started_at, finished_at, dns_us, connect_us, tls_us, wait_us,
                                  total_us, address, excerpt)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, cause, previous_id,
         state, error, http_status, started_at, finished_at, dns_us, connect_us, tls_us, wait_us,
         total_us, address, excerpt
    FROM settled
), summed AS (
  SELECT organization_id, endpoint_id, count(*) AS n, max(last_success) AS last_success,
         max(last_failure) AS last_failure,
         count(*) FILTER (WHERE n > coalesce(last_success, 0)) AS failures,
         max(finished_at) FILTER (WHERE n = last_success) AS success_at,
         max(finished_at) FILTER (WHERE n = last_failure) AS failure_at,
         max(error) FILTER (WHERE n = last_failure) AS error,
         max(http_status) FILTER (WHERE n = last_failure) AS http_status
    FROM settled
   GROUP BY organization_id, endpoint_id
), counted AS (
  UPDATE webhook.endpoints e
     SET attempts = e.attempts + s.n,
         consecutive_failures =
           CASE WHEN s.last_success IS NULL THEN e.consecutive_failures ELSE 0 END + s.failures,
         proven = coalesce(s.last_success, 0) > coalesce(s.last_failure, 0),
         last_success_at = coalesce(s.success_at, e.last_success_at),
         last_failure_at = coalesce(s.failure_at, e.last_failure_at),
         last_error = CASE WHEN s.last_failure IS NULL THEN e.last_error ELSE s.error END,
         last_http_status =
           CASE WHEN s.last_failure IS NULL THEN e.last_http_status ELSE s.http_status END
    FROM summed s
   WHERE e.organization_id = s.organization_id AND e.id = s.endpoint_id
)
SELECT count(*) FROM settled
