-- Endpoints that fail, longest first, and for how many seconds.
-- $1 how many at most
-- columns: organization_id id seconds
SELECT organization_id, id,
       greatest(0, floor(extract(epoch FROM now() - webhook.failing_since(e))))::bigint AS seconds
  FROM webhook.endpoints e
 WHERE failing_since IS NOT NULL AND enabled AND consecutive_failures >= 5
   AND webhook.failing_since(e) IS NOT NULL
 ORDER BY failing_since
 LIMIT $1::integer
