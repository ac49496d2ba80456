-- When the first entry was made that is committed but not settled: an older transaction still runs.
--   $1 the horizon
SELECT CASE WHEN isfinite(created_at) THEN (extract(epoch FROM created_at) * 1000000)::bigint END
         AS created_us
  FROM audit.entries
 WHERE xid >= $1::xid8
 ORDER BY xid, organization_id, request_id
 LIMIT 1
