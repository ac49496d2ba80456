-- Entries of an organization that the seal has passed over get a number of now. Those behind its newest block: they are
-- as young, but for what a transaction took to commit, which bounds what is read where there are millions.
CREATE FUNCTION audit.move_renumber(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  newest audit.blocks;
BEGIN
  SELECT * INTO newest FROM audit.blocks WHERE organization_id = organization ORDER BY number DESC LIMIT 1;
  UPDATE audit.entries SET xid = audit.number_of(pg_current_xact_id())
   WHERE organization_id = organization
     AND created_at >= coalesce(newest.made_at - interval '1 hour', '-infinity')
     AND (xid, request_id) > (coalesce(newest.last_xid, '0'),
                              coalesce(newest.last_request_id, '00000000-0000-0000-0000-000000000000'));
END
$$;
REVOKE ALL ON FUNCTION audit.move_renumber(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION audit.move_open(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE audit.sealing IN EXCLUSIVE MODE;
  PERFORM audit.move_renumber(organization);
  DELETE FROM audit.moving WHERE organization_id = organization;
END
$$;

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
    PERFORM audit.move_renumber(expired);
    UPDATE audit.moving SET state = 'leaving' WHERE organization_id = expired;
    n := n + 1;
  END LOOP;
  RETURN n;
END
$$;
REVOKE ALL ON FUNCTION audit.move_expire() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.move_expire() TO conv_audit;
