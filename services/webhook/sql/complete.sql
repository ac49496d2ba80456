-- Moves attempted deliveries from the queue to the log and counts them, for their endpoints and by the
-- minute. What another claim has overtaken meanwhile is left alone. Rows are found once and then
-- touched where they lie (ctid), see fan_out.sql.
--
--   1 JSON array of objects, in the order in which the attempts ended
-- columns: completed
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
  DELETE FROM webhook.queue
   WHERE ctid = ANY (ARRAY(
           SELECT q.ctid
             FROM told t
            CROSS JOIN LATERAL (
              SELECT ctid FROM webhook.queue
               WHERE organization_id = t.organization_id AND endpoint_id = t.endpoint_id
                 AND id = t.id AND fence = t.fence
              OFFSET 0) AS q))
  RETURNING organization_id, endpoint_id, id, event_id, event_type, cause, previous_id, created_at
), completed AS MATERIALIZED (
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
    FROM completed
), in_minutes AS (
  INSERT INTO webhook.statistics AS s (organization_id, minute, delivered, failed)
  SELECT organization_id, date_trunc('minute', finished_at, 'UTC'),
         count(*) FILTER (WHERE state = 'succeeded'), count(*) FILTER (WHERE state = 'failed')
    FROM completed
   GROUP BY 1, 2
  ON CONFLICT (organization_id, minute) DO UPDATE
     SET delivered = s.delivered + excluded.delivered, failed = s.failed + excluded.failed
), summed AS MATERIALIZED (
  SELECT (SELECT ctid FROM webhook.endpoints e
           WHERE e.organization_id = s.organization_id AND e.id = s.endpoint_id) AS ctid,
         count(*) AS n, max(last_success) AS last_success,
         max(last_failure) AS last_failure,
         count(*) FILTER (WHERE n > coalesce(last_success, 0)) AS failures,
         min(finished_at) FILTER (WHERE n > coalesce(last_success, 0)) AS failing_since,
         max(finished_at) FILTER (WHERE n = last_success) AS success_at,
         max(finished_at) FILTER (WHERE n = last_failure) AS failure_at,
         max(error) FILTER (WHERE n = last_failure) AS error,
         max(http_status) FILTER (WHERE n = greatest(last_success, last_failure)) AS http_status
    FROM completed s
   GROUP BY organization_id, endpoint_id
), counted AS (
  UPDATE webhook.endpoints e
     SET (attempts, consecutive_failures, proven, last_success_at, last_failure_at, last_error,
          last_http_status, failing_since) = (
           SELECT e.attempts + s.n,
                  CASE WHEN s.last_success IS NULL THEN e.consecutive_failures ELSE 0 END
                    + s.failures,
                  coalesce(s.last_success, 0) > coalesce(s.last_failure, 0),
                  coalesce(s.success_at, e.last_success_at),
                  coalesce(s.failure_at, e.last_failure_at),
                  CASE WHEN s.last_failure IS NULL THEN e.last_error ELSE s.error END,
                  s.http_status,
                  CASE WHEN s.failures = 0 THEN NULL
                       WHEN s.last_success IS NULL
                       THEN coalesce(webhook.failing_since(e), s.failing_since)
                       ELSE s.failing_since END
             FROM summed s
            WHERE s.ctid = e.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM summed WHERE ctid IS NOT NULL))
)
SELECT count(*) AS completed FROM completed
