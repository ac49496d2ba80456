-- Queues every event once more whose latest delivery to the endpoint, of those since a time, has not
-- succeeded, and which is not queued already.
-- $1 organization, $2 endpoint, $3 since, Unix seconds, $4 how many at most
-- -> verdict (ok, same, disabled), JSON; no row: no such endpoint
WITH endpoint AS MATERIALIZED (
  SELECT id, enabled FROM webhook.endpoints WHERE organization_id = $1::uuid AND id = $2::uuid
), latest AS MATERIALIZED (
  SELECT DISTINCT ON (event_id) event_id, event_type, id, state, created_at
    FROM webhook.deliveries
   WHERE organization_id = $1 AND endpoint_id = $2 AND created_at >= to_timestamp($3::bigint)
   ORDER BY event_id, created_at DESC, id DESC
), missing AS MATERIALIZED (
  SELECT l.event_id, l.event_type, l.id, l.created_at
    FROM latest l
   WHERE l.state <> 'succeeded' AND (SELECT enabled FROM endpoint)
     AND (SELECT true FROM webhook.events v WHERE v.organization_id = $1 AND v.id = l.event_id)
     AND l.event_id <> ALL (ARRAY(SELECT event_id FROM webhook.queue
                                   WHERE organization_id = $1 AND endpoint_id = $2))
), failed AS MATERIALIZED (
  SELECT *, webhook.id_at(clock_timestamp()) AS new_id
    FROM (SELECT * FROM missing ORDER BY created_at LIMIT $4::integer) AS oldest
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             previous_id, created_at)
  SELECT $1, $2, new_id, event_id, event_type, 'resend', id, webhook.time_of(new_id) FROM failed
), marked AS (
  UPDATE webhook.endpoints SET has_work = true
   WHERE organization_id = $1 AND id = $2 AND EXISTS (SELECT FROM failed)
)
SELECT CASE WHEN NOT enabled THEN 'disabled'
            WHEN EXISTS (SELECT FROM failed) THEN 'ok'
            ELSE 'same'
       END,
       json_build_object('id', id, 'resent', (SELECT count(*) FROM failed),
                         'left', (SELECT count(*) FROM missing) - (SELECT count(*) FROM failed))
  FROM endpoint
