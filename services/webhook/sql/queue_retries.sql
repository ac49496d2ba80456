-- Moves due retries from webhook.retries to the queue. Endpoints take turns, with a limited number
-- of retries in each; retry_at is the time of an endpoint's next turn. An organization has a budget
-- of retries for each minute, separate from the one for events (fan_out.sql); retries beyond it
-- wait for the next minute.
--
-- Retries are dropped if they have been due for a day, if the endpoint is disabled or has no retry
-- schedule any more, or if an operator has just resent the event (resend_failed.sql).
--
-- As in claim.sql, endpoints with retries are looked for from the lowest version that lives, and one
-- that has waited for long gets a new one. An endpoint's retries are looked for from `retries_from`:
-- those that were queued before are dead.
--
-- All endpoints with retries are read, about once a second, to find those whose turn has been due for
-- longest. An index by the time of the turn would spare that and be worse under an old snapshot: each
-- delivery to an endpoint would leave a dead entry at the same time. With 20,000 such endpoints, the
-- statement reads 490 blocks and takes about 20 ms on a busy machine; with as much dead as the new
-- versions permit, 8 for each endpoint, 3,100 blocks and 40 ms.
--
--   1 endpoints at most  2 retries of each at most  3 retries per organization and minute
--   4 lower bound of the versions of endpoints with retries
-- -> how many were queued, how many were dropped, whether more are due
-- columns: queued dropped has_more
WITH present AS MATERIALIZED (
  SELECT moment, date_trunc('minute', moment, 'UTC') AS minute
    FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS moment) AS m
), with_retries AS MATERIALIZED (
  SELECT organization_id, id, ctid, retry_at, retries_from,
         version < (SELECT pg_sequence_last_value('webhook.version')) - 10000 - 8 * count(*) OVER ()
           AS is_behind
    FROM (SELECT *, ctid FROM webhook.progress
           WHERE retry_at IS NOT NULL AND version >= $4::bigint
           ORDER BY version) AS p
   WHERE NOT EXISTS (SELECT FROM cell.paused WHERE organization_id = p.organization_id)
), turns AS MATERIALIZED (
  SELECT t.organization_id, t.id, t.ctid, t.retries_from, e.wanted
    FROM (SELECT * FROM with_retries
           WHERE retry_at <= (SELECT moment FROM present)
           ORDER BY retry_at
           LIMIT $1::integer) AS t
   CROSS JOIN LATERAL (
     SELECT enabled AND retry_schedule <> 'none' AS wanted FROM webhook.endpoints
      WHERE organization_id = t.organization_id AND id = t.id
     OFFSET 0) AS e
), spent AS MATERIALIZED (
  SELECT o.organization_id, greatest(0, $3::integer - coalesce(b.retried, 0)) AS room, b.ctid
    FROM (SELECT DISTINCT organization_id FROM turns) AS o
   CROSS JOIN present p
    LEFT JOIN LATERAL (
      SELECT retried, ctid FROM webhook.statistics
       WHERE organization_id = o.organization_id AND minute = p.minute
       ORDER BY version DESC
       LIMIT 1) AS b ON true
), due AS MATERIALIZED (
  SELECT t.organization_id, t.id AS endpoint_id, t.wanted, s.room, r.*,
         row_number() OVER (PARTITION BY t.organization_id ORDER BY r.nth, t.id) AS place
    FROM turns t
    JOIN spent s ON s.organization_id = t.organization_id
   CROSS JOIN LATERAL (
     SELECT event_id, event_type, previous_id, retry, due_at, ctid,
            row_number() OVER (ORDER BY due_at) AS nth
       FROM webhook.retries
      WHERE organization_id = t.organization_id AND endpoint_id = t.id
        AND due_at >= t.retries_from AND due_at <= (SELECT moment FROM present)
      ORDER BY due_at
      LIMIT $2::integer) AS r
), taken AS MATERIALIZED (
  SELECT d.*, d.wanted AND d.due_at >= p.moment - interval '1 day'
                AND NOT EXISTS (
                      SELECT FROM webhook.resends w
                       WHERE w.organization_id = d.organization_id AND w.endpoint_id = d.endpoint_id
                         AND w.event_id = d.event_id
                      OFFSET 0) AS is_queued
    FROM due d
   CROSS JOIN present p
   WHERE d.place <= d.room
), gone AS (
  DELETE FROM webhook.retries WHERE ctid = ANY (ARRAY(SELECT ctid FROM taken))
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             previous_id, retry, created_at)
  SELECT t.organization_id, t.endpoint_id, webhook.id_at(p.moment), t.event_id, t.event_type, 'retry',
         t.previous_id, t.retry, p.moment
    FROM taken t
   CROSS JOIN present p
   WHERE t.is_queued
), summed AS MATERIALIZED (
  SELECT t.organization_id, t.retried, o.ctid
    FROM (SELECT organization_id, count(*) AS retried FROM taken GROUP BY organization_id) AS t
    JOIN spent o ON o.organization_id = t.organization_id
), counted AS (
  UPDATE webhook.statistics s
     SET (version, retried) = (
           SELECT nextval('webhook.version'), s.retried + m.retried FROM summed m WHERE m.ctid = s.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM summed WHERE ctid IS NOT NULL))
), counted_first AS (
  INSERT INTO webhook.statistics (organization_id, minute, delivered, failed, retried)
  SELECT m.organization_id, p.minute, 0, 0, m.retried
    FROM summed m
   CROSS JOIN present p
   WHERE m.ctid IS NULL
), looked_at AS MATERIALIZED (
  SELECT t.ctid, n.taken, n.queued, n.due > n.taken AS is_over,
         (SELECT due_at FROM webhook.retries
           WHERE organization_id = t.organization_id AND endpoint_id = t.id
             AND due_at >= t.retries_from
           ORDER BY due_at
          OFFSET n.taken LIMIT 1) AS next_due
    FROM turns t
   CROSS JOIN LATERAL (
     SELECT (SELECT count(*) FROM due
              WHERE organization_id = t.organization_id AND endpoint_id = t.id) AS due,
            count(*) AS taken, count(*) FILTER (WHERE is_queued) AS queued
       FROM taken
      WHERE organization_id = t.organization_id AND endpoint_id = t.id) AS n
), marked AS (
  UPDATE webhook.progress e
     SET (version, retries_waiting, waits_from, retry_at, retries_from) = (
           SELECT nextval('webhook.version'), e.retries_waiting - l.taken,
                  CASE WHEN l.queued > 0 THEN least(e.waits_from, webhook.lowest_id_at(p.moment))
                       ELSE e.waits_from END,
                  CASE WHEN l.is_over THEN p.minute + interval '1 minute'
                       ELSE greatest(l.next_due, CASE WHEN l.next_due IS NOT NULL THEN p.moment END) END,
                  l.next_due
             FROM looked_at l
            CROSS JOIN present p
            WHERE l.ctid = e.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM looked_at))
), kept_up AS (
  UPDATE webhook.progress SET version = nextval('webhook.version')
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM with_retries WHERE is_behind
                           EXCEPT SELECT ctid FROM looked_at))
)
SELECT count(*) FILTER (WHERE is_queued) AS queued, count(*) FILTER (WHERE NOT is_queued) AS dropped,
       (SELECT count(*) FROM turns) = $1
         OR EXISTS (SELECT FROM looked_at l CROSS JOIN present p
                     WHERE NOT l.is_over AND l.next_due <= p.moment) AS has_more
  FROM taken
