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
-- Nothing is looked for among events that have been dispatched, which an old snapshot keeps
-- (migrations/0001_webhook.sql). New are events that the snapshot of the last turn did not show:
-- of transactions that began since or had not ended then. They are looked for only to learn which
-- organizations have some, and since when; organizations that the last turn left events of are
-- remembered. So a turn begins with both, and leaves both for the next one.
--
-- Rows are found once and then updated by ctid: a plan made while the tables are nearly empty would
-- rate a join by organization alone as good as one by the whole key.
--
--   1 about how many rows to write  2 how many events of an organization to look at
--   3 how many organizations to look at  4 the organization that had the last turn
--   5 deliveries per organization and minute  6 the snapshot of the last turn; 1:1: shows nothing
--   7 the organizations that it left events of  8 lower bounds of the times of these
-- -> events taken; deliveries made of them; of these skipped: disabled, expired, over the budget;
--    how many of the skipped are not logged; whether more may wait; the organization that had the
--    last turn, or null; 6, 7 and 8 for the next turn
-- columns: events fanned disabled expired over_budget unrecorded has_more served
-- columns: seen left_over left_since
WITH paused AS MATERIALIZED (
  SELECT organization_id AS id FROM cell.paused
), waiting_organizations AS MATERIALIZED (
  SELECT organization_id AS id, min(created_at) AS since
    FROM (SELECT organization_id, created_at FROM webhook.events
           WHERE dispatched IS NOT TRUE AND xid >= pg_snapshot_xmax($6::pg_snapshot)
          UNION ALL
          SELECT e.organization_id, e.created_at
            FROM pg_snapshot_xip($6) AS x
           CROSS JOIN LATERAL (
             SELECT organization_id, created_at FROM webhook.events
              WHERE dispatched IS NOT TRUE AND xid = x
             OFFSET 0) AS e
          UNION ALL
          SELECT * FROM unnest($7::uuid[], $8::timestamptz[])) AS e
   GROUP BY organization_id
), organizations AS MATERIALIZED (
  SELECT id, since, row_number() OVER (ORDER BY id <= $4::uuid, id) AS place
    FROM waiting_organizations
   WHERE id NOT IN (SELECT id FROM paused)
   ORDER BY place
   LIMIT $3::integer
), present AS MATERIALIZED (
  SELECT moment, date_trunc('minute', moment, 'UTC') AS minute
    FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS moment) AS m
), spent AS MATERIALIZED (
  SELECT o.id, o.since, o.place, coalesce(b.queued, 0) AS queued, coalesce(b.skipped, 0) AS skipped,
         b.ctid
    FROM organizations o
   CROSS JOIN present p
    LEFT JOIN LATERAL (
      SELECT queued, skipped, ctid FROM webhook.statistics
       WHERE organization_id = o.id AND minute = p.minute
       ORDER BY version DESC
       LIMIT 1) AS b ON true
), waiting AS MATERIALIZED (
  SELECT o.place, o.queued, o.skipped, v.*,
         row_number() OVER (PARTITION BY o.id ORDER BY v.created_at, v.id) AS nth
    FROM spent o
   CROSS JOIN LATERAL (
     SELECT organization_id, id, type, created_at, number, ctid
       FROM webhook.events
      WHERE NOT dispatched AND organization_id = o.id AND created_at >= o.since
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
         CASE WHEN t.created_at < p.moment - interval '1 day' THEN 'expired'
              WHEN NOT e.enabled THEN 'endpoint_disabled' END AS reason
    FROM present p
   CROSS JOIN taken t
   CROSS JOIN LATERAL (
     SELECT id, enabled
       FROM webhook.endpoints
      WHERE organization_id = t.organization_id AND t.type = ANY (events)
        AND number <= t.number
     OFFSET 0) AS e
), checked AS (
  SELECT organization_id, endpoint_id, event_id, type, nth, skipped,
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
  SELECT m.organization_id, m.queued, m.skipped, o.ctid
    FROM (SELECT organization_id, count(*) FILTER (WHERE reason IS NULL) AS queued,
                 count(reason) AS skipped
            FROM made
           GROUP BY organization_id) AS m
    JOIN spent o ON o.id = m.organization_id
), counted AS (
  UPDATE webhook.statistics s
     SET (version, queued, skipped) = (
           SELECT nextval('webhook.version'), s.queued + m.queued, s.skipped + m.skipped
             FROM summed m
            WHERE m.ctid = s.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM summed WHERE ctid IS NOT NULL))
), counted_first AS (
  INSERT INTO webhook.statistics (organization_id, minute, delivered, failed, queued, skipped)
  SELECT m.organization_id, p.minute, 0, 0, m.queued, m.skipped
    FROM summed m
   CROSS JOIN present p
   WHERE m.ctid IS NULL
), with_work AS MATERIALIZED (
  SELECT p.ctid, p.lowest_id
    FROM (SELECT DISTINCT organization_id, endpoint_id, webhook.lowest_id_at(created_at) AS lowest_id
            FROM made
           WHERE reason IS NULL) AS m
   CROSS JOIN LATERAL (
     SELECT ctid, waits_from, m.lowest_id FROM webhook.progress
      WHERE organization_id = m.organization_id AND id = m.endpoint_id
      ORDER BY version DESC
      LIMIT 1) AS p
   WHERE p.waits_from IS NULL OR p.waits_from > p.lowest_id
), marked_endpoints AS (
  UPDATE webhook.progress
     SET version = nextval('webhook.version'), waits_from = (SELECT lowest_id FROM with_work LIMIT 1)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM with_work))
), left_over AS MATERIALIZED (
  -- All that was not looked at; of what was, the first event that was not taken, and if all were, but
  -- there may be more, the last one.
  SELECT w.id, CASE WHEN o.id IS NULL THEN w.since ELSE e.since END AS since
    FROM waiting_organizations w
    LEFT JOIN organizations o ON o.id = w.id
    LEFT JOIN (SELECT v.organization_id,
                      coalesce(min(v.created_at) FILTER (WHERE t.id IS NULL),
                               CASE WHEN count(*) = $2 THEN max(v.created_at) END) AS since
                 FROM waiting v
                 LEFT JOIN taken t ON t.organization_id = v.organization_id AND t.id = v.id
                GROUP BY v.organization_id) AS e ON e.organization_id = w.id
   WHERE o.id IS NULL OR e.since IS NOT NULL
)
SELECT (SELECT count(*) FROM taken) AS events, m.fanned, m.disabled, m.expired, m.over_budget, m.unrecorded,
       EXISTS (SELECT FROM left_over WHERE id NOT IN (SELECT id FROM paused)) AS has_more,
       -- If all organizations that were looked at had a turn and others may follow, the last of
       -- these in order; else the one that had the last turn.
       (SELECT organization_id FROM taken
         ORDER BY CASE WHEN (SELECT count(*) FROM taken WHERE nth = 1) = $3 THEN place END DESC,
                  turn DESC
         LIMIT 1) AS served,
       pg_current_snapshot() AS seen, l.ids AS left_over, l.since AS left_since
  FROM (SELECT count(*) AS fanned, count(*) FILTER (WHERE reason = 'endpoint_disabled') AS disabled,
               count(*) FILTER (WHERE reason = 'expired') AS expired,
               count(*) FILTER (WHERE reason = 'over_budget') AS over_budget,
               count(*) FILTER (WHERE reason IS NOT NULL AND NOT has_room) AS unrecorded
          FROM made) AS m
 CROSS JOIN (SELECT coalesce(array_agg(id ORDER BY id), '{}') AS ids,
                    coalesce(array_agg(since ORDER BY id), '{}') AS since
               FROM left_over) AS l
