-- Queues what a delivery of the log has sent, or should have, once more.
-- $1 organization, $2 delivery
-- -> result (ok, disabled, gone: the endpoint is deleted), JSON of the new delivery;
--    no row: no such delivery
-- columns: operator.*
WITH found AS MATERIALIZED (
  SELECT d.id, d.endpoint_id, d.event_id, d.event_type, e.enabled, webhook.id_at(clock_timestamp()) AS new_id
    FROM webhook.deliveries d
    LEFT JOIN webhook.endpoints e
      ON e.organization_id = d.organization_id AND e.id = d.endpoint_id
   WHERE d.organization_id = $1::uuid AND d.id = $2::uuid
     AND d.created_at = webhook.time_of($2)
     AND (SELECT true FROM webhook.events v
           WHERE v.organization_id = d.organization_id AND v.id = d.event_id)
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             previous_id, created_at)
  SELECT $1, endpoint_id, new_id, event_id, event_type, 'resend', id, webhook.time_of(new_id)
    FROM found
   WHERE enabled
  RETURNING *
), marked AS (
  UPDATE webhook.endpoints e SET has_work = true
    FROM found f
   WHERE e.organization_id = $1 AND e.id = f.endpoint_id AND f.enabled
)
SELECT CASE WHEN enabled THEN 'ok' WHEN enabled IS NULL THEN 'gone' ELSE 'disabled' END AS result,
       (SELECT webhook.shown(ROW(queued.*)::webhook.queue) FROM queued) AS reply
  FROM found
