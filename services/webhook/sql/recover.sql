-- Recovers the expired claims of lost workers: logs the attempt as interrupted and queues the event
-- again, as a new delivery, if the endpoint is still enabled. A delivery whose worker was lost
-- three times in a row is quarantined instead.
--
-- Claims are found as in claim.sql, by their number alone, and then deleted by ctid: a join of the
-- queue with closed organizations can also be planned in the order of these, which reads all of the
-- queue that is dead.
--   1 lower bound of the claims
-- columns: interrupted quarantined
WITH present AS MATERIALIZED (
  SELECT clock_timestamp() AS moment
), closed AS MATERIALIZED (
  SELECT organization_id FROM cell.closed
), expired AS MATERIALIZED (
  SELECT organization_id, ctid
    FROM (SELECT organization_id, lease_until, ctid FROM webhook.queue
           WHERE fence >= $1::bigint
           ORDER BY fence) AS claimed
   WHERE lease_until < (SELECT moment FROM present)
), lost AS (
  DELETE FROM webhook.queue
   WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM expired
            WHERE organization_id NOT IN (SELECT organization_id FROM closed)))
  RETURNING organization_id, endpoint_id, id, event_id, event_type, cause, previous_id, retry,
            crashes + 1 AS crashes, created_at, claimed_at
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, retry, state, error, started_at,
                                  finished_at)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, cause, previous_id, retry,
         CASE WHEN crashes < 3 THEN 'interrupted' ELSE 'quarantined' END, 'interrupted',
         claimed_at, clock_timestamp()
    FROM lost
), again AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             previous_id, retry, crashes, created_at)
  SELECT organization_id, endpoint_id, new_id, event_id, event_type, 'recovery', id, retry, crashes,
         webhook.time_of(new_id)
    FROM (SELECT l.*, webhook.id_at(p.moment) AS new_id
            FROM lost l
           CROSS JOIN present p
           WHERE l.crashes < 3
             AND (SELECT enabled FROM webhook.endpoints e
                   WHERE e.organization_id = l.organization_id AND e.id = l.endpoint_id)
          OFFSET 0) AS l
), summed AS MATERIALIZED (
  SELECT l.n, e.enabled, p.moment,
         (SELECT ctid FROM webhook.progress
           WHERE organization_id = l.organization_id AND id = l.endpoint_id
           ORDER BY version DESC
           LIMIT 1) AS ctid
    FROM (SELECT organization_id, endpoint_id, count(*) AS n
            FROM lost GROUP BY organization_id, endpoint_id) AS l
   CROSS JOIN present p
    LEFT JOIN LATERAL (
      SELECT enabled FROM webhook.endpoints
       WHERE organization_id = l.organization_id AND id = l.endpoint_id
      OFFSET 0) AS e ON true
), counted AS (
  UPDATE webhook.progress p
     SET (version, attempts, waits_from) = (
           SELECT nextval('webhook.version'), p.attempts + s.n,
                  CASE WHEN s.enabled THEN least(p.waits_from, webhook.lowest_id_at(s.moment)) END
             FROM summed s
            WHERE s.ctid = p.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM summed WHERE ctid IS NOT NULL))
)
SELECT count(*) AS interrupted, count(*) FILTER (WHERE crashes >= 3) AS quarantined FROM lost
