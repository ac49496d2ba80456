-- What retention has dropped is noted with a signature, as blocks have one: whoever owns the database
-- cannot remove old entries and note that retention did. Notes from before stay as they are, unsigned.
ALTER TABLE audit.dropped
  ADD COLUMN since      timestamptz, -- what the signed note before it reached to; NULL: it is the first
  ADD COLUMN months     integer,     -- how many were kept
  ADD COLUMN dropped_by text,        -- the replica
  ADD COLUMN key_id     text,
  ADD COLUMN signature  bytea,
  ADD CONSTRAINT dropped_bounds CHECK (signature IS NULL OR
                                       (months >= 3 AND octet_length(signature) = 64 AND
                                        octet_length(key_id) BETWEEN 1 AND 64 AND
                                        strpos(key_id, E'\n') = 0 AND
                                        octet_length(dropped_by) BETWEEN 1 AND 64 AND
                                        strpos(dropped_by, E'\n') = 0) IS TRUE);

-- The oldest month if it may go now, and where it ends; NULL: none may. A number of months that is NULL
-- is refused as well: any month passes for as old.
CREATE FUNCTION audit.find_droppable(months integer, OUT partition text, OUT until timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
BEGIN
  IF coalesce(months, 0) < 3 THEN
    RAISE EXCEPTION 'the trail is kept for three months at least';
  END IF;
  SELECT relname INTO partition
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
   WHERE inhparent = 'audit.entries'::regclass AND relname ~ '^entries_[0-9]{4}_[0-9]{2}$'
   ORDER BY relname LIMIT 1;
  until := to_timestamp(right(partition, 7), 'YYYY_MM') + interval '1 month';
  IF partition IS NULL
     OR NOT audit.may_drop(format('audit.%I', partition)::regclass, until, months) THEN
    partition := NULL;
    until := NULL;
  END IF;
END
$$;
REVOKE ALL ON FUNCTION audit.find_droppable(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.find_droppable(integer) TO conv_audit;

-- Drops that month, if it still may go, and notes it; returns its name, or NULL. Whether the note is
-- ours is what its signature says. One that says the same and is there already is none of ours: the
-- month was there until now.
CREATE FUNCTION audit.drop_month(months integer, until timestamptz, since timestamptz,
                                 dropped_at timestamptz, dropped_by text, key_id text,
                                 signature bytea) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '50ms'
AS $$
DECLARE
  oldest record;
BEGIN
  IF NOT audit.lock_partitioning() THEN
    RETURN NULL;
  END IF;
  SELECT * INTO oldest FROM audit.find_droppable(months);
  IF oldest.partition IS NULL OR oldest.until IS DISTINCT FROM drop_month.until
     OR signature IS NULL THEN
    RETURN NULL;
  END IF;
  EXECUTE format('DROP TABLE audit.%I', oldest.partition);
  DELETE FROM audit.dropped AS note WHERE note.until = drop_month.until;
  INSERT INTO audit.dropped (until, since, months, dropped_at, dropped_by, key_id, signature)
  VALUES (until, since, months, dropped_at, dropped_by, key_id, signature);
  RETURN oldest.partition;
END
$$;
REVOKE ALL ON FUNCTION audit.drop_month(integer, timestamptz, timestamptz, timestamptz, text, text,
                                        bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.drop_month(integer, timestamptz, timestamptz, timestamptz, text, text,
                                           bytea) TO conv_audit;

-- Replicas from before cannot sign. As long as some of them run, they find nothing to drop.
CREATE OR REPLACE FUNCTION audit.drop_oldest(months integer) RETURNS text
LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$ SELECT NULL::text $$;
