-- Enables or disables an endpoint. What waits for one that is disabled is put on record as skipped.
-- $1 organization, $2 endpoint, $3 enabled -> verdict, JSON; no row: no such endpoint
WITH changed AS (
  UPDATE webhook.endpoints
     SET enabled = $3::boolean, has_work = has_work AND $3, updated_at = now()
   WHERE organization_id = $1::uuid AND id = $2::uuid
  RETURNING *
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
SELECT 'ok', webhook.shown(ROW(changed.*)::webhook.endpoints) FROM changed
