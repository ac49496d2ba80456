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
  SELECT organization_id AS id FROM audit.paused
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
  SELECT o.id, o.place, greatest(0, $4::integer - coalesce(b.queued, 0)) AS room
    FROM organizations o
   CROSS JOIN present p
    LEFT JOIN LATERAL (
      SELECT minute, queued FROM webhook.budgets
       WHERE organization_id = o.id
      OFFSET 0) AS b ON b.minute = p.minute
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
  SELECT t.*, webhook.id_at(p.moment) AS id, p.moment AS created_at, e.enabled, e.ctid AS endpoint
    FROM present p
   CROSS JOIN taken t
    LEFT JOIN LATERAL (
      SELECT enabled, ctid FROM webhook.endpoints
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
), in_budgets AS (
  INSERT INTO webhook.budgets AS b (organization_id, minute, queued, skipped)
  SELECT organization_id, p.minute, count(*), 0
    FROM made
   CROSS JOIN present p
   GROUP BY organization_id, p.minute
  ON CONFLICT (organization_id) DO UPDATE
     SET minute = excluded.minute,
         queued = excluded.queued + CASE WHEN b.minute = excluded.minute THEN b.queued ELSE 0 END,
         skipped = CASE WHEN b.minute = excluded.minute THEN b.skipped ELSE 0 END
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
), marked AS (
  UPDATE webhook.endpoints e
     SET (has_work, retries_waiting, retry_at) = (
           SELECT true, e.retries_waiting - count(*),
                  CASE WHEN e.retries_waiting > count(*) THEN e.retry_at END
             FROM withdrawn w
            WHERE w.organization_id = e.organization_id AND w.endpoint_id = e.id)
   WHERE ctid = ANY (ARRAY(SELECT DISTINCT endpoint FROM made WHERE enabled))
)
SELECT (SELECT count(*) FROM taken) AS taken,
       (SELECT organization_id FROM taken
         ORDER BY CASE WHEN (SELECT count(*) FROM taken WHERE nth = 1) = $2 THEN place END DESC,
                  nth DESC, place DESC
         LIMIT 1) AS served
