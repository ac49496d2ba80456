-- Up to which transaction everything is sealed, of organizations that are not closed.
-- columns: xid
SELECT coalesce((SELECT last_xid FROM audit.blocks
                  WHERE last_xid < audit.horizon()
                  ORDER BY last_xid DESC, organization_id DESC, number DESC LIMIT 1), '0') AS xid
