-- Enables or disables an endpoint, and sets its retry schedule. Disabling logs its queued
-- deliveries as skipped. Disabling it, or setting the schedule to none, deletes its waiting
-- retries; the failed attempts that they are for are in the log.
-- $1 organization, $2 endpoint, $3 enabled or null, $4 retry schedule or null
-- -> result (ok, same), JSON; no row: no such endpoint
-- columns: operator.*
WITH found AS MATERIALIZED (
  SELECT enabled, retry_schedule, coalesce($3::boolean, enabled) AS next_enabled,
         coalesce($4::text, retry_schedule) AS next_schedule
    FROM webhook.endpoints
   WHERE organization_id = $1::uuid AND id = $2::uuid
     FOR NO KEY UPDATE
), wanted AS MATERIALIZED (
  SELECT next_enabled AS enabled, next_schedule AS schedule,
         next_enabled AND next_schedule <> 'none' AS retries
    FROM found
), changed AS (
  UPDATE webhook.endpoints e
     SET enabled = w.enabled, retry_schedule = w.schedule, updated_at = now()
    FROM wanted w
   WHERE organization_id = $1 AND id = $2
  RETURNING e AS endpoint
), progressed AS (
  UPDATE webhook.progress p
     SET version = nextval('webhook.version'), waits_from = CASE WHEN w.enabled THEN waits_from END,
         retries_waiting = CASE WHEN w.retries THEN retries_waiting ELSE 0 END,
         retry_at = CASE WHEN w.retries THEN retry_at END
    FROM wanted w
   WHERE p.ctid = (SELECT ctid FROM webhook.progress
                    WHERE organization_id = $1 AND id = $2
                    ORDER BY version DESC
                    LIMIT 1)
  RETURNING p AS progress
), withdrawn AS (
  DELETE FROM webhook.retries
   WHERE organization_id = $1 AND endpoint_id = $2 AND (SELECT NOT retries FROM wanted)
), dropped AS (
  DELETE FROM webhook.queue
   WHERE organization_id = $1 AND endpoint_id = $2 AND lease_until IS NULL
     AND (SELECT NOT enabled FROM wanted)
  RETURNING *
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, retry, state, error,
                                  finished_at)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, cause, previous_id, retry,
         'skipped', 'endpoint_disabled', clock_timestamp()
    FROM dropped
)
SELECT CASE WHEN found.enabled = next_enabled AND found.retry_schedule = next_schedule
            THEN 'same' ELSE 'ok' END AS result,
       webhook.shown(changed.endpoint, progressed.progress) AS reply
  FROM found, changed, progressed
