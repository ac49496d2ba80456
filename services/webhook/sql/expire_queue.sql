-- Takes deliveries that have waited for a day from the queue and logs them as skipped. Endpoints
-- without waiting deliveries are not looked at.
-- $1 how many at most
-- columns: expired
WITH oldest AS MATERIALIZED (
  SELECT webhook.id_at(now() - interval '1 day') AS id
), old AS (
  DELETE FROM webhook.queue
   WHERE ctid = ANY (ARRAY(
           SELECT q.ctid
             FROM webhook.endpoints e
            CROSS JOIN LATERAL (
              SELECT waits_from FROM webhook.progress
               WHERE organization_id = e.organization_id AND id = e.id
               ORDER BY version DESC
               LIMIT 1) AS p
            CROSS JOIN LATERAL (
              SELECT ctid FROM webhook.queue
               WHERE organization_id = e.organization_id AND endpoint_id = e.id
                 AND id >= p.waits_from AND id < (SELECT id FROM oldest) AND fence IS NULL
               ORDER BY id
               LIMIT $1::integer) AS q
            WHERE p.waits_from < (SELECT id FROM oldest)
              AND NOT EXISTS (SELECT FROM cell.paused WHERE organization_id = e.organization_id)
            LIMIT $1))
  RETURNING *
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, retry, state, error,
                                  finished_at)
  SELECT organization_id, webhook.time_of(new_id), new_id, endpoint_id, event_id, event_type, cause,
         previous_id, retry, 'skipped', 'expired', clock_timestamp()
    FROM (SELECT *, webhook.id_at(clock_timestamp()) AS new_id FROM old OFFSET 0) AS o
)
SELECT count(*) AS expired FROM old
