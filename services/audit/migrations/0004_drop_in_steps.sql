-- Dropping a month takes its table at once and its blocks in steps: there can be very many of them,
-- and rows are deleted one by one.

-- As before, but for the blocks.
CREATE OR REPLACE FUNCTION audit.drop_oldest(months integer) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '1s'
AS $$
DECLARE
  oldest text;
  until timestamptz;
BEGIN
  IF months < 3 THEN
    RAISE EXCEPTION 'the trail is kept for three months at least';
  END IF;
  IF NOT audit.lock_partitioning() THEN
    RETURN NULL;
  END IF;
  SELECT relname INTO oldest
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
   WHERE inhparent = 'audit.entries'::regclass AND relname ~ '^entries_[0-9]{4}_[0-9]{2}$'
   ORDER BY relname LIMIT 1;
  IF oldest IS NULL THEN
    RETURN NULL;
  END IF;
  until := to_timestamp(right(oldest, 7), 'YYYY_MM') + interval '1 month';
  IF NOT audit.may_drop(format('audit.%I', oldest)::regclass, until, months) THEN
    RETURN NULL;
  END IF;
  EXECUTE format('DROP TABLE audit.%I', oldest);
  INSERT INTO audit.dropped (until) VALUES (until) ON CONFLICT DO NOTHING;
  RETURN oldest;
END
$$;

-- Deletes up to `most` blocks of which no entry is left, the last one of each chain apart, with the
-- notes of their heads; returns how many. A day more than the month: a gateway's clock may be ahead.
CREATE FUNCTION audit.drop_blocks(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  dropped integer;
BEGIN
  WITH expired AS (
    SELECT organization_id, number
      FROM audit.blocks AS block
     WHERE made_at < (SELECT max(until) - interval '1 day' FROM audit.dropped)
       AND EXISTS (SELECT FROM audit.blocks AS next
                    WHERE next.organization_id = block.organization_id
                      AND next.number > block.number)
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
REVOKE ALL ON FUNCTION audit.drop_blocks(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.drop_blocks(integer) TO conv_audit;
