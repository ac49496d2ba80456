-- How far everything is sealed, below which transaction everything is settled, and by which and when
-- the last block was made.
SELECT place.last_xid, place.organization_id, place.last_request_id,
       pg_snapshot_xmin(pg_current_snapshot()) AS horizon,
       place.made_xid,
       CASE WHEN isfinite(place.made_at)
            THEN (extract(epoch FROM place.made_at) * 1000000)::bigint END AS made_us
  FROM (SELECT) AS always
  LEFT JOIN LATERAL (SELECT last_xid, organization_id, last_request_id, made_xid, made_at
                       FROM audit.blocks
                      ORDER BY last_xid DESC, organization_id DESC, number DESC
                      LIMIT 1) AS place ON true
