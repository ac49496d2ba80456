-- Releases deliveries that this process has claimed but does not attempt, because the claim's
-- result was lost or came too late, or because it was given back. Nothing was sent, so they wait as
-- before. If the endpoint is disabled or deleted, the claim is left to expire.
-- $1 worker, $2 fences of the claims that it attempts or will attempt
-- columns: released
WITH released AS (
  UPDATE webhook.queue q
     SET claimed_at = NULL, lease_until = NULL, fence = NULL, worker = NULL
   WHERE lease_until IS NOT NULL AND worker = $1::uuid AND fence <> ALL ($2::bigint[])
     AND (SELECT enabled FROM webhook.endpoints e
           WHERE e.organization_id = q.organization_id AND e.id = q.endpoint_id)
  RETURNING organization_id, endpoint_id
), marked AS (
  UPDATE webhook.endpoints e SET has_work = true
    FROM (SELECT DISTINCT organization_id, endpoint_id FROM released) AS h
   WHERE e.organization_id = h.organization_id AND e.id = h.endpoint_id
)
SELECT count(*) AS released FROM released
