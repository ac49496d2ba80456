-- Of an organization that was closed for a move, and is open again because nobody went on with it, the seal goes on:
-- what it has passed over meanwhile gets a number of now, while its time still is one that can be believed. The caller
-- holds the lock of sealing. Returns how many organizations there were.
CREATE FUNCTION audit.move_expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  expired uuid;
  n integer := 0;
BEGIN
  FOR expired IN SELECT organization_id FROM audit.moving
                  WHERE state = 'closed' AND since <= clock_timestamp() - audit.closed_for()
                    FOR UPDATE SKIP LOCKED
  LOOP
    UPDATE audit.entries AS entry SET xid = audit.number_of(pg_current_xact_id())
     WHERE organization_id = expired
       AND (xid, organization_id, request_id) >
           ALL (SELECT last_xid, organization_id, last_request_id FROM audit.blocks
                 WHERE organization_id = expired ORDER BY number DESC LIMIT 1);
    UPDATE audit.moving SET state = 'leaving' WHERE organization_id = expired;
    n := n + 1;
  END LOOP;
  RETURN n;
END
$$;
REVOKE ALL ON FUNCTION audit.move_expire() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.move_expire() TO conv_audit;
