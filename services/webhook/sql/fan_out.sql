-- Turns events into deliveries: one for each endpoint that wants the event and was there before it.
-- For an endpoint that is disabled, it is put on record as skipped.
--
--   1 how many events at most
-- -> events taken, deliveries made of them
WITH taken AS MATERIALIZED (
  SELECT organization_id, id, type, created_at
    FROM webhook.events
   WHERE NOT dispatched
   ORDER BY created_at
   LIMIT $1::integer
     FOR UPDATE SKIP LOCKED
), marked AS (
  UPDATE webhook.events e SET dispatched = true
    FROM taken t
   WHERE e.organization_id = t.organization_id AND e.id = t.id
), wanted AS MATERIALIZED (
  SELECT t.organization_id, e.id AS endpoint_id, webhook.new_id() AS id, t.id AS event_id, t.type,
         e.enabled
    FROM taken t
    JOIN webhook.endpoints e
      ON e.organization_id = t.organization_id AND t.type = ANY (e.events)
     AND e.created_at <= t.created_at
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             created_at)
  SELECT organization_id, endpoint_id, id, event_id, type, 'event', webhook.time_of(id)
    FROM wanted
   WHERE enabled
), skipped AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, state, error, finished_at)
  SELECT organization_id, webhook.time_of(id), id, endpoint_id, event_id, type, 'event', 'skipped',
         'endpoint_disabled', clock_timestamp()
    FROM wanted
   WHERE NOT enabled
), marked_endpoints AS (
  UPDATE webhook.endpoints e SET has_work = true
    FROM (SELECT DISTINCT organization_id, endpoint_id FROM wanted WHERE enabled) w
   WHERE e.organization_id = w.organization_id AND e.id = w.endpoint_id AND NOT e.has_work
)
SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM wanted)
