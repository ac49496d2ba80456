-- Moves resends from webhook.resends to the queue. Organizations take turns, one resend each,
-- beginning after the one that had the last turn, within their budgets for this minute
-- (fan_out.sql). If the endpoint is disabled or deleted, the resend is logged as skipped. A resend
-- replaces a waiting retry (resend.sql).
--
--   1 how many at most  2 how many organizations to look at  3 the one that had the last turn
--   4 deliveries per organization and minute
-- -> how many were taken, the organization that had the last turn, or null
-- columns: taken served
WITH RECURSIVE paused AS MATERIALIZED (
  SELECT organization_id AS id FROM cell.paused
), ahead AS (
  (SELECT organization_id AS id, (organization_id NOT IN (SELECT id FROM paused))::integer AS nth
     FROM webhook.resends
    WHERE organization_id > $3::uuid ORDER BY organization_id LIMIT 1)
  UNION ALL
  SELECT next.id, nth + (next.id NOT IN (SELECT id FROM paused))::integer
    FROM ahead o
   CROSS JOIN LATERAL (
     SELECT (SELECT organization_id FROM webhook.resends
              WHERE organization_id > o.id ORDER BY organization_id LIMIT 1) AS id
     OFFSET 0) AS next
   WHERE o.id IS NOT NULL AND nth < $2::integer
), behind AS (
  (SELECT organization_id AS id, (organization_id NOT IN (SELECT id FROM paused))::integer AS nth
     FROM webhook.resends
    ORDER BY organization_id LIMIT 1)
  UNION ALL
  SELECT next.id, nth + (next.id NOT IN (SELECT id FROM paused))::integer
    FROM behind o
   CROSS JOIN LATERAL (
     SELECT (SELECT organization_id FROM webhook.resends
              WHERE organization_id > o.id ORDER BY organization_id LIMIT 1) AS id
     OFFSET 0) AS next
   WHERE o.id <= $3 AND nth < $2
), organizations AS MATERIALIZED (
  SELECT id, row_number() OVER (ORDER BY id <= $3, id) AS place
    FROM (SELECT id FROM ahead WHERE id IS NOT NULL
          UNION ALL
          SELECT id FROM behind WHERE id <= $3) AS both_ways
   WHERE id NOT IN (SELECT id FROM paused)
   ORDER BY place
   LIMIT $2
), present AS MATERIALIZED (
  SELECT moment, date_trunc('minute', moment, 'UTC') AS minute
    FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS moment) AS m
), spent AS MATERIALIZED (
  SELECT o.id, o.place, greatest(0, $4::integer - coalesce(b.queued, 0)) AS room, b.ctid
    FROM organizations o
   CROSS JOIN present p
    LEFT JOIN LATERAL (
      SELECT queued, ctid FROM webhook.statistics
       WHERE organization_id = o.id AND minute = p.minute
       ORDER BY version DESC
       LIMIT 1) AS b ON true
), waiting AS MATERIALIZED (
  SELECT o.place, r.*,
         row_number() OVER (PARTITION BY o.id ORDER BY r.endpoint_id, r.event_id) AS nth
    FROM spent o
   CROSS JOIN LATERAL (
     SELECT organization_id, endpoint_id, event_id, event_type, previous_id, ctid
       FROM webhook.resends
      WHERE organization_id = o.id
      ORDER BY endpoint_id, event_id
      LIMIT least($1::integer, o.room)) AS r
), taken AS MATERIALIZED (
  SELECT * FROM waiting ORDER BY nth, place LIMIT $1
), gone AS (
  DELETE FROM webhook.resends WHERE ctid = ANY (ARRAY(SELECT ctid FROM taken))
), made AS MATERIALIZED (
  SELECT t.*, webhook.id_at(p.moment) AS id, p.moment AS created_at, e.enabled
    FROM present p
   CROSS JOIN taken t
    LEFT JOIN LATERAL (
      SELECT enabled FROM webhook.endpoints
       WHERE organization_id = t.organization_id AND id = t.endpoint_id
      OFFSET 0) AS e ON true
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             previous_id, created_at)
  SELECT organization_id, endpoint_id, id, event_id, event_type, 'resend', previous_id, created_at
    FROM made
   WHERE enabled
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, state, error, finished_at)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, 'resend', previous_id,
         'skipped', CASE WHEN enabled IS NULL THEN 'endpoint_deleted' ELSE 'endpoint_disabled' END,
         clock_timestamp()
    FROM made
   WHERE enabled IS NOT TRUE
), summed AS MATERIALIZED (
  SELECT m.organization_id, m.queued, o.ctid
    FROM (SELECT organization_id, count(*) AS queued FROM made GROUP BY organization_id) AS m
    JOIN spent o ON o.id = m.organization_id
), counted AS (
  UPDATE webhook.statistics s
     SET (version, queued) = (
           SELECT nextval('webhook.version'), s.queued + m.queued FROM summed m WHERE m.ctid = s.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM summed WHERE ctid IS NOT NULL))
), counted_first AS (
  INSERT INTO webhook.statistics (organization_id, minute, delivered, failed, queued)
  SELECT m.organization_id, p.minute, 0, 0, m.queued
    FROM summed m
   CROSS JOIN present p
   WHERE m.ctid IS NULL
), withdrawn AS (
  DELETE FROM webhook.retries
   WHERE ctid = ANY (ARRAY(
           SELECT r.ctid
             FROM made m
            CROSS JOIN LATERAL (
              SELECT ctid FROM webhook.retries
               WHERE organization_id = m.organization_id AND endpoint_id = m.endpoint_id
                 AND event_id = m.event_id
              OFFSET 0) AS r
            WHERE m.enabled))
  RETURNING organization_id, endpoint_id
), endpoints AS MATERIALIZED (
  SELECT p.ctid
    FROM (SELECT DISTINCT organization_id, endpoint_id FROM made WHERE enabled) AS m
   CROSS JOIN LATERAL (
     SELECT ctid FROM webhook.progress
      WHERE organization_id = m.organization_id AND id = m.endpoint_id
      ORDER BY version DESC
      LIMIT 1) AS p
), marked AS (
  UPDATE webhook.progress e
     SET (version, waits_from, retries_waiting, retry_at) = (
           SELECT nextval('webhook.version'),
                  least(e.waits_from, webhook.lowest_id_at((SELECT moment FROM present))),
                  e.retries_waiting - count(*),
                  CASE WHEN e.retries_waiting > count(*) THEN e.retry_at END
             FROM withdrawn w
            WHERE w.organization_id = e.organization_id AND w.endpoint_id = e.id)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM endpoints))
)
SELECT (SELECT count(*) FROM taken) AS taken,
       (SELECT organization_id FROM taken
         ORDER BY CASE WHEN (SELECT count(*) FROM taken WHERE nth = 1) = $2 THEN place END DESC,
                  nth DESC, place DESC
         LIMIT 1) AS served
