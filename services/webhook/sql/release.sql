-- Releases deliveries that this process has claimed but does not attempt, because the claim's
-- result was lost or came too late, or because it was given back. Nothing was sent, so they wait as
-- before. If the endpoint has been disabled or deleted since, they are logged as skipped instead,
-- like those that were not claimed then.
-- $1 worker, $2 fences of the claims that it attempts or will attempt, $3 lower bound of the claims
-- columns: released
WITH held AS MATERIALIZED (
  SELECT q.organization_id, q.endpoint_id, q.id, q.ctid, e.enabled
    FROM webhook.queue q
    LEFT JOIN LATERAL (
      SELECT enabled FROM webhook.endpoints
       WHERE organization_id = q.organization_id AND id = q.endpoint_id
      OFFSET 0) AS e ON true
   WHERE q.fence >= $3::bigint AND q.worker = $1::uuid AND q.fence <> ALL ($2::bigint[])
), released AS (
  UPDATE webhook.queue
     SET claimed_at = NULL, lease_until = NULL, fence = NULL, worker = NULL
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM held WHERE enabled))
), waiting AS MATERIALIZED (
  SELECT h.id, p.ctid
    FROM (SELECT organization_id, endpoint_id, (array_agg(id ORDER BY id))[1] AS id
            FROM held
           WHERE enabled
           GROUP BY organization_id, endpoint_id) AS h
   CROSS JOIN LATERAL (
     SELECT ctid FROM webhook.progress
      WHERE organization_id = h.organization_id AND id = h.endpoint_id
      ORDER BY version DESC
      LIMIT 1) AS p
), marked AS (
  UPDATE webhook.progress p
     SET (version, waits_from) = (
           SELECT nextval('webhook.version'), least(p.waits_from, w.id)
             FROM waiting w
            WHERE w.ctid = p.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM waiting))
), dropped AS (
  DELETE FROM webhook.queue
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM held WHERE enabled IS NOT TRUE))
  RETURNING *
), logged AS (
  INSERT INTO webhook.deliveries (organization_id, created_at, id, endpoint_id, event_id,
                                  event_type, cause, previous_id, retry, state, error,
                                  finished_at)
  SELECT organization_id, created_at, id, endpoint_id, event_id, event_type, cause, previous_id, retry,
         'skipped',
         CASE WHEN EXISTS (SELECT FROM webhook.endpoints e
                            WHERE e.organization_id = dropped.organization_id
                              AND e.id = dropped.endpoint_id)
              THEN 'endpoint_disabled' ELSE 'endpoint_deleted' END,
         clock_timestamp()
    FROM dropped
)
SELECT count(*) AS released FROM held
