-- The newest thousand, and no more of them than fit into one message. Ids are in the order of time.
-- $1 organization, $2 those before this endpoint or null -> verdict, JSON array
WITH items AS (
  SELECT e.id, webhook.shown(e)::text AS item
    FROM webhook.endpoints e
   WHERE e.organization_id = $1::uuid
     AND id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   ORDER BY id DESC
   LIMIT 1000
), measured AS (
  SELECT id, item, sum(octet_length(item) + 1) OVER (ORDER BY id DESC) AS bytes FROM items
)
SELECT 'ok', '[' || coalesce(string_agg(item, ',' ORDER BY id DESC), '') || ']'
  FROM measured
 WHERE bytes < 900000
