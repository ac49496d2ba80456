-- Newest first, no more of them than fit into one message.
-- $1 organization -> verdict, JSON array
WITH items AS (
  SELECT e.id, webhook.shown(e)::text AS item
    FROM webhook.endpoints e
   WHERE e.organization_id = $1::uuid
), measured AS (
  SELECT id, item, sum(octet_length(item) + 1) OVER (ORDER BY id DESC) AS bytes FROM items
)
SELECT 'ok', '[' || coalesce(string_agg(item, ',' ORDER BY id DESC), '') || ']'
  FROM measured
 WHERE bytes < 900000
