-- How far everything is sealed, and below which transaction everything is settled.
SELECT place.last_xid, place.organization_id, place.last_request_id,
       pg_snapshot_xmin(pg_current_snapshot()) AS horizon
  FROM (SELECT) AS always
  LEFT JOIN LATERAL (SELECT last_xid, organization_id, last_request_id
                       FROM audit.blocks
                      ORDER BY last_xid DESC, organization_id DESC, number DESC
                      LIMIT 1) AS place ON true
