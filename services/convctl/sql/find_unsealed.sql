-- When the oldest entry of an organization was made that is not sealed; infinity = all are.
-- $1 organization, $2 up to this transaction everything is sealed
-- columns: since
SELECT coalesce(min(created_at), 'infinity') AS since
  FROM (SELECT * FROM audit.entries
         WHERE xid >= $2::xid8 ORDER BY xid, organization_id, request_id OFFSET 0) AS entry
 WHERE organization_id = $1::uuid
   AND NOT EXISTS (SELECT FROM (SELECT last_xid, last_request_id FROM audit.blocks
                                 WHERE organization_id = $1 ORDER BY number DESC LIMIT 1) AS newest
                    WHERE (entry.xid, entry.request_id) <= (last_xid, last_request_id))
