-- Moves attempted deliveries from the queue to the log and counts them for their endpoints and by
-- the minute. Deliveries that have been claimed again since are left alone. Rows are found once and
-- then updated by ctid: see fan_out.sql.
--
-- If the endpoint has a retry schedule, an event whose latest attempt failed is scheduled for a
-- retry, with a delay up to a fifth longer than the schedule's, so that what failed together is not
-- retried together. A success deletes the event's waiting retry.
--
--   1 JSON array of objects, in the order in which the attempts ended
--   2 retries that may wait for an endpoint
-- -> how many were completed; for how many a retry is scheduled; for how many not, because too many
--    wait
-- columns: completed scheduled unscheduled
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
  RETURNING organization_id, endpoint_id, id, event_id, event_type, cause, previous_id, retry,
            created_at
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
                                  event_type, cause, previous_id, retry, state, error, http_status,
                                  started_at, finished_at, dns_us, connect_us, tls_us, wait_us,
                                  total_us, address, excerpt)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, cause, previous_id, retry,
         state, error, http_status, started_at, finished_at, dns_us, connect_us, tls_us, wait_us,
         total_us, address, excerpt
    FROM completed
), latest AS MATERIALIZED (
  -- For each event and endpoint: a success if there is one, else the last failure.
  SELECT DISTINCT ON (organization_id, endpoint_id, event_id)
         organization_id, endpoint_id, event_id, event_type, id, retry, state, error, n
    FROM completed
   WHERE event_type <> 'webhook.test'
   ORDER BY organization_id, endpoint_id, event_id, state = 'succeeded' DESC, n DESC
), to_retry AS MATERIALIZED (
  SELECT l.*, p.retries_waiting
           + row_number() OVER (PARTITION BY l.organization_id, l.endpoint_id ORDER BY l.n) AS place
    FROM latest l
   CROSS JOIN LATERAL (
     SELECT enabled AND retry_schedule = 'standard' AS wanted FROM webhook.endpoints
      WHERE organization_id = l.organization_id AND id = l.endpoint_id
     OFFSET 0) AS e
   CROSS JOIN LATERAL (
     SELECT retries_waiting FROM webhook.progress
      WHERE organization_id = l.organization_id AND id = l.endpoint_id
      ORDER BY version DESC
      LIMIT 1) AS p
   WHERE l.state = 'failed' AND l.error <> 'expired' AND l.retry < 6 AND e.wanted
), scheduled AS (
  INSERT INTO webhook.retries (organization_id, endpoint_id, event_id, event_type, previous_id, retry,
                               due_at)
  SELECT organization_id, endpoint_id, event_id, event_type, id, retry + 1,
         clock_timestamp() + (ARRAY[5, 60, 300, 1800, 7200, 21600])[retry + 1] * (1 + random() / 5)
           * interval '1 second'
    FROM to_retry
   WHERE place <= $2::integer
  ON CONFLICT DO NOTHING
  RETURNING organization_id, endpoint_id, due_at
), withdrawn AS (
  DELETE FROM webhook.retries
   WHERE ctid = ANY (ARRAY(
           SELECT r.ctid
             FROM latest l
            CROSS JOIN LATERAL (
              SELECT ctid FROM webhook.retries
               WHERE organization_id = l.organization_id AND endpoint_id = l.endpoint_id
                 AND event_id = l.event_id
              OFFSET 0) AS r
            WHERE l.state = 'succeeded'))
  RETURNING organization_id, endpoint_id
), retries AS MATERIALIZED (
  SELECT organization_id, endpoint_id, sum(more) AS more, min(due_at) AS due_at
    FROM (SELECT organization_id, endpoint_id, 1 AS more, due_at FROM scheduled
          UNION ALL
          SELECT organization_id, endpoint_id, -1, NULL FROM withdrawn) AS r
   GROUP BY organization_id, endpoint_id
), minutes AS MATERIALIZED (
  SELECT m.*,
         (SELECT ctid FROM webhook.statistics
           WHERE organization_id = m.organization_id AND minute = m.minute
           ORDER BY version DESC
           LIMIT 1) AS ctid
    FROM (SELECT organization_id, date_trunc('minute', finished_at, 'UTC') AS minute,
                 count(*) FILTER (WHERE state = 'succeeded') AS delivered,
                 count(*) FILTER (WHERE state = 'failed') AS failed
            FROM completed
           GROUP BY 1, 2
          OFFSET 0) AS m
), in_minutes AS (
  UPDATE webhook.statistics s
     SET (version, delivered, failed) = (
           SELECT nextval('webhook.version'), s.delivered + m.delivered, s.failed + m.failed
             FROM minutes m
            WHERE m.ctid = s.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM minutes WHERE ctid IS NOT NULL))
), in_new_minutes AS (
  INSERT INTO webhook.statistics (organization_id, minute, delivered, failed)
  SELECT organization_id, minute, delivered, failed FROM minutes WHERE ctid IS NULL
), summed AS MATERIALIZED (
  SELECT (SELECT ctid FROM webhook.progress p
           WHERE p.organization_id = s.organization_id AND p.id = s.endpoint_id
           ORDER BY version DESC
           LIMIT 1) AS ctid,
         count(*) AS n, max(last_success) AS last_success,
         max(last_failure) AS last_failure,
         count(*) FILTER (WHERE n > coalesce(last_success, 0)) AS failures,
         min(finished_at) FILTER (WHERE n > coalesce(last_success, 0)) AS failing_since,
         max(finished_at) FILTER (WHERE n = last_success) AS success_at,
         max(finished_at) FILTER (WHERE n = last_failure) AS failure_at,
         max(error) FILTER (WHERE n = last_failure) AS error,
         max(http_status) FILTER (WHERE n = greatest(last_success, last_failure)) AS http_status,
         coalesce((SELECT more FROM retries r
                    WHERE r.organization_id = s.organization_id AND r.endpoint_id = s.endpoint_id), 0)
           AS retries,
         (SELECT due_at FROM retries r
           WHERE r.organization_id = s.organization_id AND r.endpoint_id = s.endpoint_id) AS due_at
    FROM completed s
   GROUP BY organization_id, endpoint_id
), counted AS (
  UPDATE webhook.progress p
     SET (version, attempts, consecutive_failures, proven, last_success_at, last_failure_at,
          last_error, last_http_status, failing_since, retries_waiting, retry_at, retries_from) = (
           SELECT nextval('webhook.version'), p.attempts + s.n,
                  CASE WHEN s.last_success IS NULL THEN p.consecutive_failures ELSE 0 END
                    + s.failures,
                  coalesce(s.last_success, 0) > coalesce(s.last_failure, 0),
                  coalesce(s.success_at, p.last_success_at),
                  coalesce(s.failure_at, p.last_failure_at),
                  CASE WHEN s.last_failure IS NULL THEN p.last_error ELSE s.error END,
                  s.http_status,
                  CASE WHEN s.failures = 0 THEN NULL
                       WHEN s.last_success IS NULL
                       THEN coalesce(p.failing_since, s.failing_since)
                       ELSE s.failing_since END,
                  p.retries_waiting + s.retries,
                  CASE WHEN p.retries_waiting + s.retries > 0 THEN least(p.retry_at, s.due_at) END,
                  CASE WHEN p.retries_waiting > 0 THEN least(p.retries_from, s.due_at)
                       ELSE s.due_at END
             FROM summed s
            WHERE s.ctid = p.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM summed WHERE ctid IS NOT NULL))
)
SELECT (SELECT count(*) FROM completed) AS completed, (SELECT count(*) FROM scheduled) AS scheduled,
       (SELECT count(*) FROM to_retry WHERE place > $2) AS unscheduled
