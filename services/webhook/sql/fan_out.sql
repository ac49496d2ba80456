-- Turns events into deliveries: one for each endpoint that wants the event and was made by an earlier
-- transaction.
--
-- Organizations take turns, beginning after the one that had the last turn. In a call, those with
-- less work done come first, and none gets more than a quarter of the call; the very first event is
-- taken whatever it costs. An organization that is moving between cells has no turn, here and
-- wherever deliveries are looked for, and does not count among those looked at.
--
-- An organization has a budget for each minute. Deliveries beyond it are skipped, and so are those
-- for disabled endpoints and those of events that have waited for a day. Skipped deliveries are
-- logged, up to as many again in a minute; the rest are only counted, which is an eighth of the
-- work.
--
-- Rows are found once and then updated by ctid: a plan made while the tables are nearly empty would
-- rate a join by organization alone as good as one by the whole key.
--
--   1 about how many rows to write  2 how many events of an organization to look at
--   3 how many organizations to look at  4 the organization that had the last turn
--   5 deliveries per organization and minute
-- -> events taken; deliveries made of them; of these skipped: disabled, expired, over the budget;
--    how many of the skipped are not logged; whether more may wait; the organization that had the
--    last turn, or null
-- columns: events fanned disabled expired over_budget unrecorded has_more served
WITH RECURSIVE paused AS MATERIALIZED (
  SELECT organization_id AS id FROM audit.paused
), ahead AS (
  (SELECT organization_id AS id, (organization_id NOT IN (SELECT id FROM paused))::integer AS nth
     FROM webhook.events
    WHERE NOT dispatched AND organization_id > $4::uuid ORDER BY organization_id LIMIT 1)
  UNION ALL
  SELECT next.id, nth + (next.id NOT IN (SELECT id FROM paused))::integer
    FROM ahead o
   CROSS JOIN LATERAL (
     SELECT (SELECT organization_id FROM webhook.events
              WHERE NOT dispatched AND organization_id > o.id ORDER BY organization_id LIMIT 1) AS id
     OFFSET 0) AS next
   WHERE o.id IS NOT NULL AND nth < $3::integer
), behind AS (
  (SELECT organization_id AS id, (organization_id NOT IN (SELECT id FROM paused))::integer AS nth
     FROM webhook.events
    WHERE NOT dispatched ORDER BY organization_id LIMIT 1)
  UNION ALL
  SELECT next.id, nth + (next.id NOT IN (SELECT id FROM paused))::integer
    FROM behind o
   CROSS JOIN LATERAL (
     SELECT (SELECT organization_id FROM webhook.events
              WHERE NOT dispatched AND organization_id > o.id ORDER BY organization_id LIMIT 1) AS id
     OFFSET 0) AS next
   WHERE o.id <= $4 AND nth < $3
), organizations AS MATERIALIZED (
  SELECT id, row_number() OVER (ORDER BY id <= $4, id) AS place
    FROM (SELECT id FROM ahead WHERE id IS NOT NULL
          UNION ALL
          SELECT id FROM behind WHERE id <= $4) AS both_ways
   WHERE id NOT IN (SELECT id FROM paused)
   ORDER BY place
   LIMIT $3
), present AS MATERIALIZED (
  SELECT moment, date_trunc('minute', moment, 'UTC') AS minute
    FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS moment) AS m
), spent AS MATERIALIZED (
  SELECT o.id, o.place, coalesce(b.queued, 0) AS queued, coalesce(b.skipped, 0) AS skipped
    FROM organizations o
   CROSS JOIN present p
    LEFT JOIN LATERAL (
      SELECT minute, queued, skipped FROM webhook.budgets
       WHERE organization_id = o.id
      OFFSET 0) AS b ON b.minute = p.minute
), waiting AS MATERIALIZED (
  SELECT o.place, o.queued, o.skipped, v.*,
         row_number() OVER (PARTITION BY o.id ORDER BY v.created_at, v.id) AS nth
    FROM spent o
   CROSS JOIN LATERAL (
     SELECT organization_id, id, type, created_at, number, ctid
       FROM webhook.events
      WHERE NOT dispatched AND organization_id = o.id
      ORDER BY created_at, id
      LIMIT $2::integer) AS v
), reach AS MATERIALIZED (
  SELECT k.organization_id, k.type,
         greatest(least(e.n, greatest(0, $5::integer - k.queued) + greatest(0, $5 - k.skipped)),
                  e.n / 8) AS n
    FROM (SELECT DISTINCT organization_id, type, queued, skipped FROM waiting) AS k
   CROSS JOIN LATERAL (
     SELECT count(*) AS n FROM webhook.endpoints
      WHERE organization_id = k.organization_id AND k.type = ANY (events)) AS e
), weighed AS (
  SELECT w.*, 1 + r.n AS cost,
         sum(1 + r.n) OVER (PARTITION BY w.organization_id ORDER BY w.nth ROWS UNBOUNDED PRECEDING)
           - (1 + r.n) AS before
    FROM waiting w
    JOIN reach r ON r.organization_id = w.organization_id AND r.type = w.type
), in_turn AS (
  SELECT *, row_number() OVER (ORDER BY before, place) AS turn,
         sum(cost) OVER (ORDER BY before, place ROWS UNBOUNDED PRECEDING) AS work
    FROM weighed
   WHERE before < greatest(1, $1::integer / 4)
), taken AS MATERIALIZED (
  SELECT organization_id, id, type, created_at, number, ctid, place, nth, turn, queued, skipped
    FROM in_turn
   WHERE work <= $1 OR turn = 1
), marked AS (
  UPDATE webhook.events SET dispatched = true
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM taken))
), wanted AS MATERIALIZED (
  SELECT t.organization_id, e.id AS endpoint_id, t.id AS event_id, t.type, t.nth, t.queued, t.skipped,
         e.has_work, e.ctid,
         CASE WHEN t.created_at < p.moment - interval '1 day' THEN 'expired'
              WHEN NOT e.enabled THEN 'endpoint_disabled' END AS reason
    FROM present p
   CROSS JOIN taken t
   CROSS JOIN LATERAL (
     SELECT id, enabled, has_work, ctid
       FROM webhook.endpoints
      WHERE organization_id = t.organization_id AND t.type = ANY (events)
        AND number <= t.number
     OFFSET 0) AS e
), checked AS (
  SELECT organization_id, endpoint_id, event_id, type, nth, skipped, has_work, ctid,
         CASE WHEN reason IS NULL
               AND queued + row_number() OVER (PARTITION BY organization_id, reason IS NULL
                                               ORDER BY nth, endpoint_id) > $5
              THEN 'over_budget' ELSE reason END AS reason
    FROM wanted
), made AS MATERIALIZED (
  SELECT j.*, p.moment AS created_at,
         j.skipped + row_number() OVER (PARTITION BY j.organization_id, j.reason IS NULL
                                        ORDER BY j.nth, j.endpoint_id) <= $5 AS has_room
    FROM present p
   CROSS JOIN checked j
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             created_at)
  SELECT organization_id, endpoint_id, webhook.id_at(created_at), event_id, type, 'event', created_at
    FROM made
   WHERE reason IS NULL
), skipped AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, state, error, finished_at)
  SELECT organization_id, created_at, webhook.id_at(created_at), endpoint_id, event_id, type, 'event',
         'skipped', reason, clock_timestamp()
    FROM made
   WHERE reason IS NOT NULL AND has_room
), summed AS MATERIALIZED (
  SELECT organization_id, p.minute, count(*) FILTER (WHERE reason IS NULL) AS queued,
         count(reason) AS skipped
    FROM made
   CROSS JOIN present p
   GROUP BY organization_id, p.minute
), in_budgets AS (
  INSERT INTO webhook.budgets AS b (organization_id, minute, queued, skipped)
  SELECT organization_id, minute, queued, skipped FROM summed
  ON CONFLICT (organization_id) DO UPDATE
     SET minute = excluded.minute,
         queued = excluded.queued + CASE WHEN b.minute = excluded.minute THEN b.queued ELSE 0 END,
         skipped = excluded.skipped + CASE WHEN b.minute = excluded.minute THEN b.skipped ELSE 0 END
), in_minutes AS (
  INSERT INTO webhook.statistics AS s (organization_id, minute, delivered, failed, skipped)
  SELECT organization_id, minute, 0, 0, skipped FROM summed WHERE skipped > 0
  ON CONFLICT (organization_id, minute) DO UPDATE SET skipped = s.skipped + excluded.skipped
), marked_endpoints AS (
  UPDATE webhook.endpoints SET has_work = true
   WHERE ctid = ANY (ARRAY(SELECT DISTINCT ctid FROM made WHERE reason IS NULL AND NOT has_work))
)
SELECT (SELECT count(*) FROM taken) AS events, m.fanned, m.disabled, m.expired, m.over_budget, m.unrecorded,
       (SELECT count(*) FROM waiting) > (SELECT count(*) FROM taken)
         OR EXISTS (SELECT FROM waiting WHERE nth = $2)
         OR (SELECT count(*) FROM organizations) = $3 AS has_more,
       -- If all organizations that were looked at had a turn and others may follow, the last of
       -- these in order; else the one that had the last turn.
       (SELECT organization_id FROM taken
         ORDER BY CASE WHEN (SELECT count(*) FROM taken WHERE nth = 1) = $3 THEN place END DESC,
                  turn DESC
         LIMIT 1) AS served
  FROM (SELECT count(*) AS fanned, count(*) FILTER (WHERE reason = 'endpoint_disabled') AS disabled,
               count(*) FILTER (WHERE reason = 'expired') AS expired,
               count(*) FILTER (WHERE reason = 'over_budget') AS over_budget,
               count(*) FILTER (WHERE reason IS NOT NULL AND NOT has_room) AS unrecorded
          FROM made) AS m
