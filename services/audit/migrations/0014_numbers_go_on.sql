-- The numbers of transactions go on where the audit log is moved to another server, whose own begin
-- again: what is added to those makes every later number greater than all that are there. Nothing is
-- added on the server on which an audit log began.

CREATE TABLE audit.numbering (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  added   bigint  NOT NULL DEFAULT 0 CHECK (added BETWEEN 0 AND 4611686018427387904)
);
INSERT INTO audit.numbering DEFAULT VALUES;
GRANT SELECT ON audit.numbering TO conv_audit;

CREATE FUNCTION audit.numbered(xid xid8, added bigint) RETURNS xid8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (xid::text::bigint + added)::text::xid8;

-- A transaction as entries and blocks have it.
CREATE FUNCTION audit.number_of(xid xid8) RETURNS xid8
LANGUAGE sql STABLE PARALLEL SAFE
RETURN audit.numbered(xid, coalesce((SELECT added FROM audit.numbering), 0));

-- Below it every transaction is settled.
CREATE FUNCTION audit.horizon() RETURNS xid8
LANGUAGE sql STABLE PARALLEL SAFE
RETURN audit.number_of(pg_snapshot_xmin(pg_current_snapshot()));

-- Adds to the numbers if some that are there lie ahead, and says how much is added in all then; NULL
-- if none does. The greatest ones are looked at, without what no server reaches (2^61): somebody has
-- put it there. The seal makes blocks in the order of their entries, so the greatest number of a
-- transaction that made one is among the last blocks. Whoever appends has to wait: an entry has a
-- number from before, and is committed, or has one from after.
CREATE FUNCTION audit.continue_numbers() RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  beyond constant xid8 := '2305843009213693952';
  step constant bigint := 1048576;
  last xid8;
BEGIN
  FOR try IN 1..2 LOOP
    SELECT found.xid INTO last
      FROM (SELECT xid FROM (SELECT xid FROM audit.entries WHERE xid < beyond
                              ORDER BY xid DESC, organization_id DESC, request_id DESC
                              LIMIT 1) AS entry
             UNION ALL
            SELECT last_xid FROM (SELECT last_xid FROM audit.blocks WHERE last_xid < beyond
                                   ORDER BY last_xid DESC, organization_id DESC, number DESC
                                   LIMIT 1) AS block
             UNION ALL
            SELECT made_xid FROM (SELECT made_xid FROM audit.blocks WHERE last_xid < beyond
                                   ORDER BY last_xid DESC, organization_id DESC, number DESC
                                   LIMIT 10000) AS block
             WHERE made_xid < beyond) AS found
     WHERE found.xid >= audit.number_of(pg_snapshot_xmax(pg_current_snapshot()))
     ORDER BY found.xid DESC
     LIMIT 1;
    IF last IS NULL THEN
      RETURN NULL;
    END IF;
    LOCK TABLE audit.entries IN ACCESS EXCLUSIVE MODE;
  END LOOP;
  INSERT INTO audit.numbering AS present (added)
  VALUES (last::text::bigint + step - pg_current_xact_id()::text::bigint)
      ON CONFLICT (is_only) DO UPDATE SET added = EXCLUDED.added;
  EXECUTE (SELECT format('ALTER TABLE audit.entries ALTER COLUMN xid
                          SET DEFAULT audit.numbered(pg_current_xact_id(), %s)', added)
             FROM audit.numbering);
  RETURN (SELECT added FROM audit.numbering);
END
$$;
REVOKE ALL ON FUNCTION audit.continue_numbers() FROM PUBLIC;

-- As before, by numbers.
CREATE OR REPLACE FUNCTION audit.check_block() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  n constant integer := cardinality(NEW.request_ids);
BEGIN
  IF NEW.number = 1 + coalesce((SELECT number FROM audit.blocks
                                 WHERE organization_id = NEW.organization_id
                                 ORDER BY number DESC LIMIT 1), 0)
     AND NEW.entries BETWEEN 1 AND 9007199254740992
     AND NEW.last_xid < audit.horizon()
     AND NEW.made_xid = audit.number_of(pg_current_xact_id())
     AND NEW.made_at BETWEEN clock_timestamp() - interval '1 minute'
                         AND clock_timestamp() + interval '1 minute'
     AND octet_length(NEW.previous_hash) = 32 AND octet_length(NEW.block_hash) = 32
     AND octet_length(NEW.signature) = 64 AND octet_length(NEW.key_id) BETWEEN 1 AND 64
     AND n BETWEEN 1 AND 1000 AND array_ndims(NEW.request_ids) = 1
     AND array_position(NEW.request_ids, NULL) IS NULL
     AND octet_length(NEW.entry_hashes) = 32 * n
     AND cardinality(NEW.implausible) <= n
     AND cardinality(NEW.implausible_times) = cardinality(NEW.implausible)
     AND coalesce(array_ndims(NEW.implausible), 1) = 1
     AND coalesce(array_ndims(NEW.implausible_times), 1) = 1
     AND NEW.last_request_id = NEW.request_ids[n]
     AND (EXISTS (SELECT FROM audit.entries AS entry
                   WHERE entry.organization_id = NEW.organization_id
                     AND entry.created_at = audit.time_of(NEW.last_request_id)
                     AND entry.request_id = NEW.last_request_id AND entry.xid = NEW.last_xid)
          OR EXISTS (SELECT FROM audit.entries AS entry
                      WHERE entry.xid = NEW.last_xid
                        AND entry.organization_id = NEW.organization_id
                        AND entry.request_id = NEW.last_request_id)) THEN
    RETURN NEW;
  END IF;
  RAISE check_violation USING MESSAGE = 'no block of the sealer looks like that';
END
$$;
