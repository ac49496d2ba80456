-- Entries of an organization that the seal has passed over get a number of now: those behind its newest block. No older
-- one is older than `since`, or, where that is not known, than the newest block, but for the minute that an entry may be
-- old when it is appended and what a transaction took to commit. This bounds what is read where there are millions.
CREATE FUNCTION audit.move_renumber(organization uuid, since timestamptz) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  newest audit.blocks;
BEGIN
  SELECT * INTO newest FROM audit.blocks WHERE organization_id = organization ORDER BY number DESC LIMIT 1;
  -- In a SELECT of its own the number is looked up once, not for each entry.
  UPDATE audit.entries SET xid = (SELECT audit.number_of(pg_current_xact_id()))
   WHERE organization_id = organization
     AND created_at >= coalesce(since, newest.made_at - interval '5 minutes', '-infinity')
     AND (xid, request_id) > (coalesce(newest.last_xid, '0'),
                              coalesce(newest.last_request_id, '00000000-0000-0000-0000-000000000000'));
END
$$;
REVOKE ALL ON FUNCTION audit.move_renumber(uuid, timestamptz) FROM PUBLIC;

-- From here on it is served here. Entries that the other cell had not sealed yet, or that were passed over here while it
-- was closed, get a number of today, so that the seal finds them; `since` is as above. The seal does nothing meanwhile:
-- what it was about to seal is sealed then. It fails where somebody else keeps a lock: the organization may be closed.
CREATE FUNCTION audit.move_open(organization uuid, since timestamptz) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s'
AS $$
BEGIN
  LOCK TABLE audit.sealing IN EXCLUSIVE MODE;
  PERFORM audit.move_renumber(organization, since);
  DELETE FROM audit.moving WHERE organization_id = organization;
END
$$;
REVOKE ALL ON FUNCTION audit.move_open(uuid, timestamptz) FROM PUBLIC;

-- Opens organizations that were closed for a move, and nobody went on with it for ten seconds. Of these the seal goes on:
-- what it has passed over meanwhile gets a number of now, while its time still is one that can be believed. The clock
-- only says when: whoever goes on with the move after this finds the organization leaving, not closed. The caller holds
-- the lock of sealing. Returns how many organizations there were.
CREATE FUNCTION audit.move_expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  expired uuid;
  n integer := 0;
BEGIN
  FOR expired IN SELECT organization_id FROM audit.moving
                  WHERE state = 'closed' AND since <= clock_timestamp() - interval '10 seconds'
                    FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM audit.move_renumber(expired, NULL);
    UPDATE audit.moving SET state = 'leaving' WHERE organization_id = expired;
    n := n + 1;
  END LOOP;
  RETURN n;
END
$$;
REVOKE ALL ON FUNCTION audit.move_expire() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.move_expire() TO conv_audit;
