-- The time of the first entry that is committed but not settled, because an older transaction still
-- runs.
--   $1 the horizon
-- columns: created_us
SELECT audit.us(created_at) AS created_us
  FROM audit.entries
 WHERE xid >= $1::xid8
 ORDER BY xid, organization_id, request_id
 LIMIT 1
