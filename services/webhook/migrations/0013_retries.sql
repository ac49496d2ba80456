-- An operator may have failed deliveries of an endpoint retried. What is to be retried waits apart from the
-- queue until it is due: senders from before this leave it alone.

ALTER TABLE webhook.endpoints
  ADD COLUMN retry_schedule  text NOT NULL DEFAULT 'none' CHECK (retry_schedule IN ('none', 'standard')),
  ADD COLUMN retries_waiting integer NOT NULL DEFAULT 0, -- rows of webhook.retries
  ADD COLUMN retry_at        timestamptz; -- when to look at them next; NULL: there are none
CREATE INDEX endpoints_to_retry ON webhook.endpoints (retry_at) WHERE retry_at IS NOT NULL;

-- How many retries led to a delivery: 0 is the first attempt, or one that an operator has asked for.
ALTER TABLE webhook.queue ADD COLUMN retry smallint NOT NULL DEFAULT 0;
ALTER TABLE webhook.deliveries ADD COLUMN retry smallint NOT NULL DEFAULT 0;

-- One for an event and endpoint. They go with their endpoint, whatever deletes it.
CREATE TABLE webhook.retries (
  organization_id uuid        NOT NULL,
  endpoint_id     uuid        NOT NULL,
  event_id        uuid        NOT NULL,
  event_type      text        NOT NULL,
  previous_id     uuid        NOT NULL, -- the delivery that failed
  retry           smallint    NOT NULL, -- which one it will be, from 1
  due_at          timestamptz NOT NULL,
  PRIMARY KEY (organization_id, endpoint_id, event_id),
  FOREIGN KEY (organization_id, endpoint_id) REFERENCES webhook.endpoints ON DELETE CASCADE
);
CREATE INDEX retries_due ON webhook.retries (organization_id, endpoint_id, due_at);
GRANT SELECT, INSERT, DELETE ON webhook.retries TO conv_webhook;

-- Retries have a budget of their own, so that they take nothing from new events. The minute is apart, too:
-- senders from before this begin a new one without it.
ALTER TABLE webhook.budgets
  ADD COLUMN retry_minute timestamptz,
  ADD COLUMN retried      integer NOT NULL DEFAULT 0;

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
    'created_at', floor(extract(epoch FROM e.created_at))::bigint,
    'updated_at', floor(extract(epoch FROM e.updated_at))::bigint)
$$;
CREATE OR REPLACE FUNCTION webhook.shown(d webhook.deliveries) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', d.id, 'endpoint_id', d.endpoint_id,
    'event_id', 'evt_' || replace(d.event_id::text, '-', ''), 'event_type', d.event_type,
    'cause', d.cause, 'retry', d.retry, 'previous_id', d.previous_id, 'state', d.state,
    'http_status', d.http_status, 'error', d.error,
    'retry_at', CASE WHEN d.state = 'failed' THEN (
      SELECT floor(extract(epoch FROM r.due_at))::bigint FROM webhook.retries r
       WHERE r.organization_id = d.organization_id AND r.endpoint_id = d.endpoint_id
         AND r.event_id = d.event_id AND r.previous_id = d.id) END,
    'duration_ms', round(d.total_us / 1000.0, 1),
    'timings', CASE WHEN d.total_us IS NOT NULL THEN json_build_object(
      'dns_ms', round(d.dns_us / 1000.0, 1), 'connect_ms', round(d.connect_us / 1000.0, 1),
      'tls_ms', round(d.tls_us / 1000.0, 1), 'wait_ms', round(d.wait_us / 1000.0, 1)) END,
    'address', d.address, 'excerpt', d.excerpt,
    'created_at', floor(extract(epoch FROM d.created_at))::bigint,
    'started_at', floor(extract(epoch FROM d.started_at))::bigint,
    'finished_at', floor(extract(epoch FROM d.finished_at))::bigint)
$$;
CREATE OR REPLACE FUNCTION webhook.shown(q webhook.queue) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', q.id, 'endpoint_id', q.endpoint_id,
    'event_id', 'evt_' || replace(q.event_id::text, '-', ''), 'event_type', q.event_type,
    'cause', q.cause, 'retry', q.retry, 'previous_id', q.previous_id,
    'state', CASE WHEN q.lease_until IS NULL THEN 'pending' ELSE 'claimed' END,
    'http_status', NULL, 'error', NULL, 'retry_at', NULL, 'duration_ms', NULL, 'timings', NULL,
    'address', NULL, 'excerpt', NULL,
    'created_at', floor(extract(epoch FROM q.created_at))::bigint,
    'started_at', floor(extract(epoch FROM q.claimed_at))::bigint,
    'finished_at', NULL)
$$;
