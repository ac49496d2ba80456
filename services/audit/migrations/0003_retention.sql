-- Retention: whole months are dropped, and nothing but whole months.

-- How many months an organization's entries are kept at least. Rows are only ever added and the
-- longest counts: whoever runs the service can lengthen it, shortening takes the owner of the table.
CREATE TABLE audit.minimums (
  organization_id uuid        NOT NULL,
  months          integer     NOT NULL CHECK (months BETWEEN 1 AND 1200),
  set_at          timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, months)
);

-- What has been dropped: every entry from before `until`.
CREATE TABLE audit.dropped (
  until      timestamptz PRIMARY KEY,
  dropped_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT, INSERT ON audit.minimums TO conv_audit;
GRANT SELECT ON audit.dropped TO conv_audit;

-- Whether the month of `partition`, which ends at `until`, may go now: it is `months` old, and old
-- enough for everybody who has an entry in it.
CREATE FUNCTION audit.may_drop(partition regclass, until timestamptz, months integer)
RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  held boolean;
BEGIN
  IF until + months * interval '1 month' > now() THEN
    RETURN false;
  END IF;
  EXECUTE format(
    'SELECT EXISTS (SELECT FROM audit.minimums AS minimum
                     WHERE $1 + minimum.months * interval ''1 month'' > now()
                       AND EXISTS (SELECT FROM %s AS entry
                                    WHERE entry.organization_id = minimum.organization_id))',
    partition) INTO held USING until;
  RETURN NOT held;
END
$$;
REVOKE ALL ON FUNCTION audit.may_drop(regclass, timestamptz, integer) FROM PUBLIC;

-- Drops the oldest month if it is more than `months` old and nobody's minimum forbids it, with the
-- blocks that hold nothing younger; returns its name, or NULL. A chain always keeps its last block.
-- Whoever may call it can destroy nothing that is younger than three months.
CREATE FUNCTION audit.drop_oldest(months integer) RETURNS text
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
  -- A day more than the month: a gateway's clock may be ahead of ours.
  DELETE FROM audit.blocks AS block
   WHERE made_at < until - interval '1 day'
     AND number < (SELECT max(number) FROM audit.blocks AS last
                    WHERE last.organization_id = block.organization_id);
  DELETE FROM audit.heads AS head
   WHERE published_at < until - interval '1 day'
     AND NOT EXISTS (SELECT FROM audit.blocks AS block
                      WHERE block.organization_id = head.organization_id
                        AND block.number = head.number);
  RETURN oldest;
END
$$;
REVOKE ALL ON FUNCTION audit.drop_oldest(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.drop_oldest(integer) TO conv_audit;

-- How many entries lie in the default partition: none, unless a month was not made in time or an
-- entry is dated absurdly. Counts to a thousand.
CREATE FUNCTION audit.count_strays() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT count(*) FROM (SELECT FROM audit.entries_default LIMIT 1000) AS stray $$;
REVOKE ALL ON FUNCTION audit.count_strays() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.count_strays() TO conv_audit;
