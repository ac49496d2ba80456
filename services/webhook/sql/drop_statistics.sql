-- Deletes minutes older than 8 days, except those of organizations that another cell serves or will
-- serve: they are compared with that cell's.
-- $1 how many at most
-- columns: dropped
WITH RECURSIVE organizations AS (
  (SELECT organization_id AS id FROM webhook.statistics ORDER BY organization_id LIMIT 1)
  UNION ALL
  SELECT (SELECT organization_id FROM webhook.statistics
           WHERE organization_id > o.id ORDER BY organization_id LIMIT 1)
    FROM organizations o
   WHERE o.id IS NOT NULL
), dropped AS (
  DELETE FROM webhook.statistics
   WHERE ctid = ANY (ARRAY(
           SELECT s.ctid
             FROM organizations o
            CROSS JOIN LATERAL (
              SELECT ctid FROM webhook.statistics
               WHERE organization_id = o.id AND minute < now() - interval '8 days'
               ORDER BY minute
               LIMIT $1::integer) AS s
            WHERE o.id NOT IN (SELECT organization_id FROM cell.closed)
            LIMIT $1))
  RETURNING 1
)
SELECT count(*) AS dropped FROM dropped
