-- When the first entry was made that is committed but not settled: an older transaction still runs.
--   $1 the horizon
-- columns: created_us
SELECT audit.us(created_at) AS created_us
  FROM audit.entries
 WHERE xid >= $1::xid8
 ORDER BY xid, organization_id, request_id
 LIMIT 1
