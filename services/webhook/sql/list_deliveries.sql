-- A page of an endpoint's deliveries, queued and logged, newest first: at most 200, and at most 460
-- KB, because many pages are built at once; 50 of the largest fit. Deliveries that do not fit are
-- not read in full: one counts as 900 bytes and twice its excerpt, which is the most that it takes
-- as JSON. The log of an endpoint outlives it.
-- $1 organization, $2 endpoint, $3 how many, $4 only those before this delivery, or null
-- -> result, JSON array; no row: no such endpoint
-- columns: operator.*
WITH bound AS MATERIALIZED (
  SELECT id,
         CASE WHEN $4 IS NULL THEN 'infinity'::timestamptz ELSE webhook.time_of(id) END
           AS created_at
    FROM (SELECT coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AS id) AS b
), listed AS (
  SELECT * FROM (
    SELECT q.created_at, q.id, 900 AS bytes, q AS waiting, NULL::webhook.deliveries AS ended
      FROM webhook.queue q
     WHERE q.organization_id = $1::uuid AND q.endpoint_id = $2::uuid
       AND q.id < (SELECT id FROM bound)
     ORDER BY q.id DESC
     LIMIT least($3::integer, 200)) AS waiting
  UNION ALL
  SELECT * FROM (
    SELECT d.created_at, d.id, 900 + 2 * coalesce(octet_length(d.excerpt), 0), NULL::webhook.queue, d
      FROM webhook.deliveries d
     WHERE d.organization_id = $1 AND d.endpoint_id = $2
       AND (d.created_at, d.id) < (SELECT created_at, id FROM bound)
     ORDER BY d.created_at DESC, d.id DESC
     LIMIT least($3, 200)) AS ended
), measured AS (
  SELECT *, sum(bytes) OVER (ORDER BY created_at DESC, id DESC ROWS UNBOUNDED PRECEDING) AS total
    FROM (SELECT * FROM listed ORDER BY created_at DESC, id DESC LIMIT least($3, 200)) AS newest
), joined AS (
  SELECT string_agg(CASE WHEN ended IS NULL THEN webhook.shown(waiting)
                         ELSE webhook.shown(ended) END::text, ','
                    ORDER BY created_at DESC, id DESC) AS items
    FROM measured
   WHERE total < 460000
)
SELECT 'ok' AS result, '[' || coalesce(items, '') || ']' AS reply
  FROM joined
 WHERE items IS NOT NULL OR $4 IS NOT NULL
    OR EXISTS (SELECT FROM webhook.endpoints WHERE organization_id = $1 AND id = $2)
