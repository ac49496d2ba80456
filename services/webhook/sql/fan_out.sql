-- Turns events into deliveries: one for each endpoint that wants the event and was there before it.
-- For an endpoint that is disabled, it is put on record as skipped.
--
-- Every organization's oldest event comes before any organization's second one, and of equals the
-- one that makes fewer deliveries, as long as the work is not too much. The oldest of all is taken
-- in any case.
--
-- Rows are found once and then touched where they lie (spot): a plan that is made while the tables
-- are nearly empty would take a join by organization alone to be as good as one by the whole key.
--
--   1 rows to be written, about  2 events to be looked at, of an organization
-- -> events taken, deliveries made of them, whether others may be waiting
WITH RECURSIVE organizations AS (
  (SELECT organization_id AS id FROM webhook.events
    WHERE NOT dispatched ORDER BY organization_id LIMIT 1)
  UNION ALL
  SELECT (SELECT organization_id FROM webhook.events
           WHERE NOT dispatched AND organization_id > o.id ORDER BY organization_id LIMIT 1)
    FROM organizations o
   WHERE o.id IS NOT NULL
), waiting AS MATERIALIZED (
  SELECT v.organization_id, v.id, v.type, v.created_at, v.spot,
         row_number() OVER (PARTITION BY v.organization_id ORDER BY v.created_at, v.id) AS nth
    FROM organizations o
   CROSS JOIN LATERAL (
     SELECT organization_id, id, type, created_at, ctid AS spot
       FROM webhook.events
      WHERE NOT dispatched AND organization_id = o.id
      ORDER BY created_at, id
      LIMIT $2::integer) AS v
), reach AS MATERIALIZED (
  SELECT k.organization_id, k.type,
         (SELECT count(*) FROM webhook.endpoints e
           WHERE e.organization_id = k.organization_id AND k.type = ANY (e.events)) AS n
    FROM (SELECT DISTINCT organization_id, type FROM waiting) AS k
), weighed AS (
  SELECT w.*, row_number() OVER (ORDER BY w.created_at, w.id) AS place,
         sum(1 + r.n) OVER (ORDER BY w.nth, r.n, w.created_at, w.id ROWS UNBOUNDED PRECEDING) AS work
    FROM waiting w
    JOIN reach r ON r.organization_id = w.organization_id AND r.type = w.type
), taken AS MATERIALIZED (
  SELECT organization_id, id, type, created_at, spot
    FROM weighed
   WHERE work <= $1::integer OR place = 1
), marked AS (
  UPDATE webhook.events SET dispatched = true
   WHERE ctid = ANY (ARRAY(SELECT spot FROM taken))
), present AS MATERIALIZED (
  SELECT date_trunc('milliseconds', clock_timestamp()) AS moment
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
SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM wanted),
       (SELECT count(*) FROM waiting) > (SELECT count(*) FROM taken)
         OR EXISTS (SELECT FROM waiting WHERE nth = $2)
