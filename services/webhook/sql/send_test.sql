-- Creates an event for this endpoint only and queues its delivery.
-- $1 organization, $2 endpoint, $3 event -> result (ok, disabled), JSON of the delivery; no row: no
-- such endpoint
-- columns: operator.*
WITH endpoint AS MATERIALIZED (
  SELECT id, enabled, webhook.id_at(clock_timestamp()) AS new_id
    FROM webhook.endpoints
   WHERE organization_id = $1::uuid AND id = $2::uuid
), made AS (
  INSERT INTO webhook.events (organization_id, id, type, data, created_at, dispatched)
  SELECT $1, $3::uuid, 'webhook.test', jsonb_build_object('endpoint_id', id), now(), true
    FROM endpoint
   WHERE enabled
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             created_at)
  SELECT $1, id, new_id, $3, 'webhook.test', 'test', webhook.time_of(new_id)
    FROM endpoint
   WHERE enabled
  RETURNING *
), marked AS (
  UPDATE webhook.progress
     SET version = nextval('webhook.version'),
         waits_from = least(waits_from, (SELECT new_id FROM endpoint))
   WHERE (SELECT enabled FROM endpoint)
     AND ctid = (SELECT ctid FROM webhook.progress
                  WHERE organization_id = $1 AND id = $2
                  ORDER BY version DESC
                  LIMIT 1)
)
SELECT CASE WHEN enabled THEN 'ok' ELSE 'disabled' END AS result,
       (SELECT webhook.shown(ROW(queued.*)::webhook.queue) FROM queued) AS reply
  FROM endpoint
