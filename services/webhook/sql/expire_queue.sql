-- What has waited for 30 days will not be sent any more: it is put on record as skipped.
-- -> how many
WITH old AS (
  DELETE FROM webhook.queue
   WHERE created_at < now() - interval '30 days' AND lease_until IS NULL
  RETURNING *
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, state, error, finished_at)
  SELECT organization_id, webhook.time_of(new_id), new_id, endpoint_id, event_id, event_type, cause,
         previous_id, 'skipped', 'expired', clock_timestamp()
    FROM (SELECT *, webhook.id_at(clock_timestamp()) AS new_id FROM old OFFSET 0) AS o
)
SELECT count(*) FROM old
