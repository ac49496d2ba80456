-- Deletes an endpoint with its secret and its retries; its log stays. Queued deliveries are logged
-- as skipped.
-- $1 organization, $2 endpoint -> result, JSON; no row: no such endpoint
-- columns: operator.*
WITH gone AS (
  DELETE FROM webhook.endpoints
   WHERE organization_id = $1::uuid AND id = $2::uuid
  RETURNING id
), dropped AS (
  DELETE FROM webhook.queue
   WHERE organization_id = $1 AND endpoint_id = $2 AND lease_until IS NULL
  RETURNING *
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, retry, state, error,
                                  finished_at)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, cause, previous_id, retry,
         'skipped', 'endpoint_deleted', clock_timestamp()
    FROM dropped
)
SELECT 'ok' AS result, json_build_object('id', id, 'deleted', true) AS reply FROM gone
