-- Since when an endpoint has failed, for whoever has to see to it; and last_http_status is what the latest
-- attempt was answered, no longer the latest failure.

ALTER TABLE webhook.endpoints
  ADD COLUMN failing_since timestamptz, -- the first of the failures in a row
  ADD COLUMN reported_at   timestamptz; -- when the log last said that it has failed for long
CREATE INDEX endpoints_failing ON webhook.endpoints (failing_since) WHERE failing_since IS NOT NULL;

-- What is known of those that are there: the latest failure is one in the row, and what a success was
-- answered is not on record.
UPDATE webhook.endpoints
   SET failing_since = CASE WHEN consecutive_failures > 0 THEN last_failure_at END,
       last_http_status = CASE WHEN consecutive_failures > 0 THEN last_http_status END
 WHERE consecutive_failures > 0 OR last_http_status IS NOT NULL;

-- Senders from before this leave the time as it is when an attempt succeeds: it counts only where it is
-- not before that.
CREATE FUNCTION webhook.failing_since(e webhook.endpoints) RETURNS timestamptz
LANGUAGE sql IMMUTABLE
AS $$
  SELECT CASE WHEN e.consecutive_failures > 0
               AND e.failing_since >= coalesce(e.last_success_at, '-infinity') THEN e.failing_since END
$$;

CREATE OR REPLACE FUNCTION webhook.shown(e webhook.endpoints) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', e.id, 'url', e.url, 'events', e.events, 'signing', e.signing, 'enabled', e.enabled,
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

REVOKE ALL ON FUNCTION webhook.failing_since(webhook.endpoints) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION webhook.failing_since(webhook.endpoints) TO conv_webhook;
