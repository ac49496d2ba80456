-- Of the blocks whose entries have been dropped a chain keeps the last one, not only its very last
-- block. So what a chain begins with is either its first block or one that is older than what was
-- dropped: verifying tells a front that retention took from one that somebody else did.
CREATE OR REPLACE FUNCTION audit.drop_blocks(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  dropped integer;
  before timestamptz;
BEGIN
  -- A day more than the month: a gateway's clock may be ahead.
  SELECT max(until) - interval '1 day' INTO before FROM audit.dropped;
  WITH expired AS (
    SELECT organization_id, number
      FROM audit.blocks AS block
     WHERE made_at < before
       AND EXISTS (SELECT FROM audit.blocks AS next
                    WHERE next.organization_id = block.organization_id
                      AND next.number = block.number + 1
                      AND next.made_at < before)
     ORDER BY last_xid
     LIMIT most
  ), heads AS (
    DELETE FROM audit.heads USING expired
     WHERE heads.organization_id = expired.organization_id AND heads.number = expired.number
  ), blocks AS (
    DELETE FROM audit.blocks USING expired
     WHERE blocks.organization_id = expired.organization_id AND blocks.number = expired.number
    RETURNING 1
  )
  SELECT count(*) INTO dropped FROM blocks;
  RETURN dropped;
END
$$;
