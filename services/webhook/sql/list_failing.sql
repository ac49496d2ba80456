-- Endpoints that fail, longest first, and for how many seconds.
-- $1 how many at most
-- columns: organization_id id seconds
SELECT e.organization_id, e.id,
       greatest(0, floor(extract(epoch FROM now() - p.failing_since)))::bigint AS seconds
  FROM webhook.endpoints e
 CROSS JOIN LATERAL (
   SELECT failing_since, consecutive_failures FROM webhook.progress
    WHERE organization_id = e.organization_id AND id = e.id
    ORDER BY version DESC
    LIMIT 1) AS p
 WHERE e.enabled AND p.consecutive_failures >= 5
 ORDER BY p.failing_since
 LIMIT $1::integer
