-- Deletes minutes older than 8 days, except those of organizations that another cell serves or will
-- serve: they are compared with that cell's.
-- $1 how many at most
-- columns: dropped
WITH dropped AS (
  DELETE FROM webhook.statistics
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM webhook.statistics
                            WHERE minute < now() - interval '8 days'
                              AND organization_id NOT IN (SELECT organization_id FROM audit.closed)
                            ORDER BY minute
                            LIMIT $1::integer))
  RETURNING 1
)
SELECT count(*) AS dropped FROM dropped
