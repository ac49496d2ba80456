-- How many seconds the oldest event has waited to be fanned out, the health of enabled endpoints,
-- and how many retries wait for them. Thresholds as in webhook.shown().
-- $1 `oldest` of the last call, or 0: no event that an earlier transaction has written here waits
-- columns: age healthy degraded failing retries oldest
WITH first AS MATERIALIZED (
  SELECT xid, created_at FROM webhook.events
   WHERE dispatched IS NOT TRUE AND xid >= $1::xid8
   ORDER BY xid
   LIMIT 1
)
SELECT (SELECT greatest(0, coalesce(extract(epoch FROM now() - min(created_at)), 0))::bigint
          FROM first) AS age,
       count(*) FILTER (WHERE consecutive_failures < 2) AS healthy,
       count(*) FILTER (WHERE consecutive_failures BETWEEN 2 AND 4) AS degraded,
       count(*) FILTER (WHERE consecutive_failures >= 5) AS failing,
       coalesce(sum(retries_waiting), 0)::bigint AS retries,
       least((SELECT xid FROM first), pg_snapshot_xmin(pg_current_snapshot())) AS oldest
  FROM webhook.endpoints e
 CROSS JOIN LATERAL (
   SELECT consecutive_failures, retries_waiting FROM webhook.progress
    WHERE organization_id = e.organization_id AND id = e.id
    ORDER BY version DESC
    LIMIT 1) AS p
 WHERE enabled
