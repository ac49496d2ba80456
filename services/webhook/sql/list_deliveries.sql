-- What waits or is under way, and what became of the others, newest first, no more of them than fit
-- into one message. The log of an endpoint outlives it.
-- $1 organization, $2 endpoint, $3 how many
-- -> verdict, JSON array; no row: no such endpoint
WITH listed AS (
  SELECT * FROM (
    SELECT q.created_at, q.id, webhook.shown(q)::text AS item
      FROM webhook.queue q
     WHERE q.organization_id = $1::uuid AND q.endpoint_id = $2::uuid
     ORDER BY q.id DESC
     LIMIT $3::integer) AS waiting
  UNION ALL
  SELECT * FROM (
    SELECT d.created_at, d.id, webhook.shown(d)::text
      FROM webhook.deliveries d
     WHERE d.organization_id = $1 AND d.endpoint_id = $2
     ORDER BY d.created_at DESC, d.id DESC
     LIMIT $3) AS ended
), newest AS (
  SELECT * FROM listed ORDER BY created_at DESC, id DESC LIMIT $3
), measured AS (
  SELECT created_at, id, item,
         sum(octet_length(item) + 1) OVER (ORDER BY created_at DESC, id DESC) AS bytes
    FROM newest
), joined AS (
  SELECT string_agg(item, ',' ORDER BY created_at DESC, id DESC) AS items
    FROM measured
   WHERE bytes < 900000
)
SELECT 'ok', '[' || coalesce(items, '') || ']'
  FROM joined
 WHERE items IS NOT NULL
    OR EXISTS (SELECT FROM webhook.endpoints WHERE organization_id = $1 AND id = $2)
