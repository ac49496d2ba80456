-- Queues the event of a logged delivery again. The new delivery replaces a waiting retry; if it
-- fails, the retry schedule begins again.
-- $1 organization, $2 delivery
-- -> result (ok, disabled, gone: the endpoint is deleted), JSON of the new delivery; no row: no
--    such delivery
-- columns: operator.*
WITH found AS MATERIALIZED (
  SELECT d.id, d.endpoint_id, d.event_id, d.event_type, e.enabled, webhook.id_at(clock_timestamp()) AS new_id
    FROM webhook.deliveries d
    LEFT JOIN webhook.endpoints e
      ON e.organization_id = d.organization_id AND e.id = d.endpoint_id
   WHERE d.organization_id = $1::uuid AND d.id = $2::uuid
     AND d.created_at = webhook.time_of($2)
     AND (SELECT true FROM webhook.events v
           WHERE v.organization_id = d.organization_id AND v.id = d.event_id)
), queued AS (
  INSERT INTO webhook.queue (organization_id, endpoint_id, id, event_id, event_type, cause,
                             previous_id, created_at)
  SELECT $1, endpoint_id, new_id, event_id, event_type, 'resend', id, webhook.time_of(new_id)
    FROM found
   WHERE enabled
  RETURNING *
), withdrawn AS (
  DELETE FROM webhook.retries
   WHERE ctid = ANY (ARRAY(
           SELECT r.ctid
             FROM found f
            CROSS JOIN LATERAL (
              SELECT ctid FROM webhook.retries
               WHERE organization_id = $1 AND endpoint_id = f.endpoint_id AND event_id = f.event_id
              OFFSET 0) AS r
            WHERE f.enabled))
  RETURNING 1
), marked AS (
  UPDATE webhook.progress
     SET version = nextval('webhook.version'),
         waits_from = least(waits_from, (SELECT new_id FROM found)),
         retries_waiting = retries_waiting - (SELECT count(*) FROM withdrawn),
         retry_at = CASE WHEN retries_waiting > (SELECT count(*) FROM withdrawn) THEN retry_at END
   WHERE ctid = (SELECT ctid FROM webhook.progress
                  WHERE organization_id = $1 AND id = (SELECT endpoint_id FROM found WHERE enabled)
                  ORDER BY version DESC
                  LIMIT 1)
)
SELECT CASE WHEN enabled THEN 'ok' WHEN enabled IS NULL THEN 'gone' ELSE 'disabled' END AS result,
       (SELECT webhook.shown(ROW(queued.*)::webhook.queue) FROM queued) AS reply
  FROM found
