-- Enables or disables an endpoint. What waits for one that is disabled is put on record as skipped.
-- $1 organization, $2 endpoint, $3 enabled -> result (ok, same), JSON; no row: no such endpoint
-- columns: operator.*
WITH found AS (
  SELECT enabled FROM webhook.endpoints
   WHERE organization_id = $1::uuid AND id = $2::uuid
     FOR NO KEY UPDATE
), changed AS (
  UPDATE webhook.endpoints e
     SET enabled = $3::boolean, has_work = has_work AND $3, updated_at = now()
    FROM found
   WHERE organization_id = $1 AND id = $2
  RETURNING e.*
), dropped AS (
  DELETE FROM webhook.queue
   WHERE organization_id = $1 AND endpoint_id = $2 AND lease_until IS NULL AND NOT $3
  RETURNING *
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, state, error, finished_at)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, cause, previous_id,
         'skipped', 'endpoint_disabled', clock_timestamp()
    FROM dropped
)
SELECT CASE WHEN found.enabled = $3 THEN 'same' ELSE 'ok' END AS result,
       webhook.shown(ROW(changed.*)::webhook.endpoints) AS reply
  FROM found, changed
