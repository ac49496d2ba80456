-- The secret that an endpoint will sign with when its rotation is finished. Programs from before go on signing
-- with the present one.

ALTER TABLE webhook.endpoints
  ADD COLUMN next_secret    bytea, -- sealed as the other one
  ADD COLUMN next_secret_at timestamptz;

CREATE OR REPLACE FUNCTION webhook.shown(e webhook.endpoints) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', e.id, 'url', e.url, 'events', e.events, 'signing', e.signing, 'enabled', e.enabled,
    'retries', e.retry_schedule, 'retries_waiting', e.retries_waiting,
    'next_retry_at', floor(extract(epoch FROM e.retry_at))::bigint,
    'health', CASE WHEN e.consecutive_failures >= 5 THEN 'failing'
                   WHEN e.consecutive_failures >= 2 THEN 'degraded' ELSE 'healthy' END,
    'attempts', e.attempts, 'consecutive_failures', e.consecutive_failures,
    'last_error', e.last_error, 'last_http_status', e.last_http_status,
    'failing_since', floor(extract(epoch FROM webhook.failing_since(e)))::bigint,
    'last_failure_at', floor(extract(epoch FROM e.last_failure_at))::bigint,
    'last_success_at', floor(extract(epoch FROM e.last_success_at))::bigint,
    'next_secret_at', floor(extract(epoch FROM e.next_secret_at))::bigint,
    'created_at', floor(extract(epoch FROM e.created_at))::bigint,
    'updated_at', floor(extract(epoch FROM e.updated_at))::bigint)
$$;
