-- Resends each event whose latest delivery to the endpoint since a given time has not succeeded,
-- unless it is queued already. Does not take the queue's lock: the events are put into
-- webhook.resends.
--
-- Every delivery of an event to an endpoint but the first names the one before it. So a delivery is
-- the latest one if there is no later delivery that names another. Deliveries are looked up by
-- event; their organization and endpoint are compared with IS NOT DISTINCT FROM, which no index
-- supports: a plan made while the tables are nearly empty might otherwise walk all deliveries of
-- the endpoint for each event.
--
-- $1 organization, $2 endpoint, $3 since, Unix seconds, $4 how many at most, $5 how many deliveries
-- to look at
-- -> result (ok, same, disabled), JSON; no row: no such endpoint
-- columns: operator.*
WITH endpoint AS MATERIALIZED (
  SELECT id, enabled FROM webhook.endpoints WHERE organization_id = $1::uuid AND id = $2::uuid
), seen AS MATERIALIZED (
  SELECT event_id, event_type, id, created_at
    FROM webhook.deliveries
   WHERE organization_id = $1 AND endpoint_id = $2 AND state <> 'succeeded'
     AND created_at >= to_timestamp($3::bigint) AND (SELECT enabled FROM endpoint)
   ORDER BY created_at, id
   LIMIT $5::integer
), missing AS MATERIALIZED (
  SELECT *, row_number() OVER (ORDER BY created_at, id) AS nth
    FROM (SELECT *
            FROM seen s
           WHERE NOT EXISTS (
                   SELECT FROM webhook.deliveries r
                    WHERE r.event_id = s.event_id AND r.previous_id IS NOT NULL
                      AND r.created_at >= s.created_at
                      AND (r.created_at, r.id) > (s.created_at, s.id)
                      AND r.organization_id IS NOT DISTINCT FROM $1
                      AND r.endpoint_id IS NOT DISTINCT FROM $2
                   OFFSET 0)
             AND NOT EXISTS (
                   SELECT FROM webhook.queue q
                    WHERE q.event_id = s.event_id AND q.previous_id IS NOT NULL
                      AND q.organization_id IS NOT DISTINCT FROM $1
                      AND q.endpoint_id IS NOT DISTINCT FROM $2
                   OFFSET 0)
             AND NOT EXISTS (
                   SELECT FROM webhook.resends w
                    WHERE w.organization_id = $1 AND w.endpoint_id = $2 AND w.event_id = s.event_id
                   OFFSET 0)
             AND EXISTS (
                   SELECT FROM webhook.events v
                    WHERE v.organization_id = $1 AND v.id = s.event_id
                   OFFSET 0)
           -- No ORDER BY: rows come oldest first, and a sort would check all of them before the
           -- limit.
           LIMIT $4::integer + 1) AS oldest
), queued AS (
  INSERT INTO webhook.resends (organization_id, endpoint_id, event_id, event_type, previous_id)
  SELECT $1, $2, event_id, event_type, id FROM missing WHERE nth <= $4
  ON CONFLICT DO NOTHING
  RETURNING event_id
), next AS (
  -- Where the next call begins: at the first that was not taken, or after all that were looked at.
  SELECT coalesce((SELECT created_at FROM missing WHERE nth > $4),
                  (SELECT max(created_at) FROM seen HAVING count(*) = $5)) AS at
)
SELECT CASE WHEN NOT enabled THEN 'disabled'
            WHEN EXISTS (SELECT FROM queued) THEN 'ok'
            ELSE 'same'
       END AS result,
       json_build_object('id', endpoint.id, 'resent', (SELECT count(*) FROM queued),
                         'left', CASE WHEN next.at IS NULL THEN 0 ELSE 1 END,
                         'since', coalesce(floor(extract(epoch FROM next.at))::bigint, $3)) AS reply
  FROM endpoint
 CROSS JOIN next
