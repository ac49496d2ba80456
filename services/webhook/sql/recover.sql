-- Recovers the expired claims of lost workers: logs the attempt as interrupted and queues the event
-- again, as a new delivery, if the endpoint is still enabled. A delivery whose worker was lost
-- three times in a row is quarantined instead.
-- columns: interrupted quarantined
WITH lost AS (
  DELETE FROM webhook.queue
   WHERE lease_until < clock_timestamp()
     AND NOT EXISTS (SELECT FROM audit.closed AS c WHERE c.organization_id = queue.organization_id)
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
  SELECT organization_id, endpoint_id, new_id, event_id, event_type, 'again', id, retry, crashes,
         webhook.time_of(new_id)
    FROM (SELECT l.*, webhook.id_at(clock_timestamp()) AS new_id
            FROM lost l
           WHERE l.crashes < 3
             AND (SELECT enabled FROM webhook.endpoints e
                   WHERE e.organization_id = l.organization_id AND e.id = l.endpoint_id)
          OFFSET 0) AS l
), counted AS (
  UPDATE webhook.endpoints e
     SET attempts = e.attempts + l.n, has_work = e.enabled
    FROM (SELECT organization_id, endpoint_id, count(*) AS n
            FROM lost GROUP BY organization_id, endpoint_id) AS l
   WHERE e.organization_id = l.organization_id AND e.id = l.endpoint_id
)
SELECT count(*) AS interrupted, count(*) FILTER (WHERE crashes >= 3) AS quarantined FROM lost
