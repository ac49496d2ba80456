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
              SELECT ctid FROM webhook.queue
               WHERE organization_id = e.organization_id AND endpoint_id = e.id
                 AND id < (SELECT id FROM oldest) AND lease_until IS NULL
               ORDER BY id
               LIMIT $1::integer) AS q
            WHERE e.has_work
              AND NOT EXISTS (SELECT FROM audit.paused WHERE organization_id = e.organization_id)
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
