-- Turns events into deliveries: one for each endpoint that wants the event and was there before it.
-- For an endpoint that is disabled, it is put on record as skipped.
--
-- Rows are found once and then touched where they lie (spot): a plan that is made while the tables
-- are nearly empty would take a join by organization alone to be as good as one by the whole key.
--
--   1 how many events at most
-- -> events taken, deliveries made of them
WITH present AS MATERIALIZED (
  SELECT date_trunc('milliseconds', clock_timestamp()) AS moment
), taken AS MATERIALIZED (
  SELECT organization_id, id, type, created_at, ctid AS spot
    FROM webhook.events
   WHERE NOT dispatched
   ORDER BY created_at
   LIMIT $1::integer
     FOR UPDATE SKIP LOCKED
), marked AS (
  UPDATE webhook.events SET dispatched = true
   WHERE ctid = ANY (ARRAY(SELECT spot FROM taken))
), wanted AS MATERIALIZED (
  SELECT t.organization_id, e.id AS endpoint_id, webhook.id_at(p.moment) AS id,
         p.moment AS created_at, t.id AS event_id, t.type, e.enabled, e.has_work, e.spot
    FROM present p
   CROSS JOIN taken t
   CROSS JOIN LATERAL (
     SELECT id, enabled, has_work, ctid AS spot
       FROM webhook.endpoints
      WHERE organization_id = t.organization_id AND t.type = ANY (events)
        AND created_at <= t.created_at
     OFFSET 0) AS e
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             created_at)
  SELECT organization_id, endpoint_id, id, event_id, type, 'event', created_at
    FROM wanted
   WHERE enabled
), skipped AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, state, error, finished_at)
  SELECT organization_id, created_at, id, endpoint_id, event_id, type, 'event', 'skipped',
         'endpoint_disabled', clock_timestamp()
    FROM wanted
   WHERE NOT enabled
), marked_endpoints AS (
  UPDATE webhook.endpoints SET has_work = true
   WHERE ctid = ANY (ARRAY(SELECT DISTINCT spot FROM wanted WHERE enabled AND NOT has_work))
)
SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM wanted)
