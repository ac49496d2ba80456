-- Endpoints that have failed for 5 days and have not been reported for a day; the replica that asks
-- first reports them. They are marked by ctid, with the queue's lock (fan_out.sql). Endpoints of
-- organizations that another cell serves or will serve are left out.
-- $1 how many at most
-- columns: organization_id id failing_since error
UPDATE webhook.endpoints e SET reported_at = now()
 WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM webhook.endpoints f
          WHERE failing_since < now() - interval '5 days' AND enabled AND consecutive_failures >= 5
            AND webhook.failing_since(f) IS NOT NULL
            AND organization_id NOT IN (SELECT organization_id FROM audit.closed)
            AND coalesce(reported_at, '-infinity') < now() - interval '1 day'
          ORDER BY failing_since
          LIMIT $1::integer))
RETURNING organization_id, id, floor(extract(epoch FROM failing_since))::bigint AS failing_since,
          last_error AS error
