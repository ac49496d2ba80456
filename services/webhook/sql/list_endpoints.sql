-- A page of endpoints, newest first: at most 100, and at most 300 KB, because many pages are built
-- at once. Ids are ordered by time.
-- $1 organization, $2 only those before this endpoint, or null -> result, JSON array
-- columns: operator.*
WITH listed AS (
  SELECT e AS endpoint, e.id,
         sum(1000 + octet_length(e.url)) OVER (ORDER BY e.id DESC ROWS UNBOUNDED PRECEDING) AS total
    FROM (SELECT *
            FROM webhook.endpoints
           WHERE organization_id = $1::uuid
             AND id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
           ORDER BY id DESC
           LIMIT 100) AS e
)
SELECT 'ok' AS result,
       '[' || coalesce(string_agg(webhook.shown(ROW((endpoint).*)::webhook.endpoints, progress)::text,
                                  ',' ORDER BY id DESC), '') || ']' AS reply
  FROM listed
 CROSS JOIN LATERAL (
   SELECT p AS progress FROM webhook.progress p
    WHERE organization_id = $1 AND p.id = listed.id
    ORDER BY version DESC
    LIMIT 1) AS p
 WHERE total < 300000
