-- Endpoints that have failed for 5 days and have not been reported for a day; the replica that asks
-- first reports them. They are marked by ctid, with the queue's lock (fan_out.sql). Endpoints of
-- organizations that another cell serves or will serve are left out.
-- $1 how many at most
-- columns: organization_id id failing_since error
WITH failing AS MATERIALIZED (
  SELECT e.organization_id, e.id, e.ctid, p.failing_since, p.last_error
    FROM webhook.endpoints e
   CROSS JOIN LATERAL (
     SELECT failing_since, consecutive_failures, last_error FROM webhook.progress
      WHERE organization_id = e.organization_id AND id = e.id
      ORDER BY version DESC
      LIMIT 1) AS p
   WHERE p.failing_since < now() - interval '5 days' AND e.enabled AND p.consecutive_failures >= 5
     AND e.organization_id NOT IN (SELECT organization_id FROM cell.closed)
     AND coalesce(e.reported_at, '-infinity') < now() - interval '1 day'
   ORDER BY p.failing_since
   LIMIT $1::integer
), reported AS (
  UPDATE webhook.endpoints SET reported_at = now() WHERE ctid = ANY (ARRAY(SELECT ctid FROM failing))
)
SELECT organization_id, id, floor(extract(epoch FROM failing_since))::bigint AS failing_since,
       last_error AS error
  FROM failing
