-- Counts the delivery attempts in flight.   $1 organization
-- columns: n
SELECT count(*) AS n FROM webhook.queue WHERE organization_id = $1::uuid AND lease_until IS NOT NULL
