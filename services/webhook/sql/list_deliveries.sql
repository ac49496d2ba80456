-- What waits or is under way, and what became of the others, newest first, no more of them than fit
-- into one message. The log of an endpoint outlives it.
-- $1 organization, $2 endpoint, $3 how many, $4 those before this delivery or null
-- -> verdict, JSON array; no row: no such endpoint
WITH bound AS MATERIALIZED (
  SELECT id,
         CASE WHEN $4 IS NULL THEN 'infinity'::timestamptz ELSE webhook.time_of(id) END
           AS created_at
    FROM (SELECT coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS b
), listed AS (
  SELECT * FROM (
    SELECT q.created_at, q.id, webhook.shown(q)::text AS item
      FROM webhook.queue q
     WHERE q.organization_id = $1::uuid AND q.endpoint_id = $2::uuid
       AND q.id < (SELECT id FROM bound)
     ORDER BY q.id DESC
     LIMIT $3::integer) AS waiting
  UNION ALL
  SELECT * FROM (
    SELECT d.created_at, d.id, webhook.shown(d)::text
      FROM webhook.deliveries d
     WHERE d.organization_id = $1 AND d.endpoint_id = $2
       AND (d.created_at, d.id) < (SELECT created_at, id FROM bound)
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
 WHERE items IS NOT NULL OR $4 IS NOT NULL
    OR EXISTS (SELECT FROM webhook.endpoints WHERE organization_id = $1 AND id = $2)
