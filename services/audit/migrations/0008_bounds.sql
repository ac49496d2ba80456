-- What a service's role can append is bounded, so that no row of it can be what a statement or a
-- process stumbles over; and blocks can say of entries that no service can have appended them so.

-- All at once, before anything is done, and last what every request appends to: whoever appends waits
-- for as long as this one is waited for, and not for what comes behind it.
LOCK TABLE audit.changes, audit.blocks, audit.heads, audit.entries IN ACCESS EXCLUSIVE MODE;

-- As before, in less time: every entry that is appended is held against it.
CREATE OR REPLACE FUNCTION audit.time_of(request_id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_timestamp(('x' || translate(left(request_id::text, 13), '-', ''))::bit(48)::bigint::float8
                    / 1000);

-- Rows that were there before are looked at by the next migration, while appends go on.
ALTER TABLE audit.entries
  ADD CONSTRAINT entries_created_at CHECK (created_at >= '1970-01-01 00:00+00' AND
                                           created_at < '10900-01-01 00:00+00') NOT VALID,
  ADD CONSTRAINT entries_http_status CHECK (http_status BETWEEN 100 AND 599) NOT VALID,
  ADD CONSTRAINT entries_operation CHECK (octet_length(operation) BETWEEN 1 AND 64 AND
                                          strpos(operation, E'\n') = 0) NOT VALID,
  ADD CONSTRAINT entries_outcome CHECK (octet_length(outcome) BETWEEN 1 AND 64 AND
                                        strpos(outcome, E'\n') = 0) NOT VALID,
  ADD CONSTRAINT entries_denial_reason CHECK (octet_length(denial_reason) BETWEEN 1 AND 64 AND
                                              strpos(denial_reason, E'\n') = 0) NOT VALID;
ALTER TABLE audit.changes
  ADD CONSTRAINT changes_texts CHECK (octet_length(who) <= 1024 AND octet_length(change) <= 64 AND
                                      octet_length(target) <= 1024 AND
                                      octet_length(address) <= 64) NOT VALID,
  ADD CONSTRAINT changes_detail CHECK (octet_length(detail::text) <= 65536) NOT VALID;

-- Unix microseconds as text, of any time at all: "Infinity" and what is beyond a bigint included.
CREATE FUNCTION audit.us(at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN trunc(extract(epoch FROM at) * 1000000)::text;

-- The time of that many Unix microseconds, exact as far as a UUIDv7 goes: numbers are multiplied with
-- intervals in floating point.
CREATE FUNCTION audit.at(us bigint) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'epoch'::timestamptz + us / 1000000 * interval '1 second'
       + us % 1000000 * interval '1 microsecond';

-- A text as it is hashed and shown. What is longer than any that services write stands as its hash:
-- a row takes no more memory than its like, whoever wrote it.
CREATE FUNCTION audit.brief(field text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(field) <= 256 THEN field
            ELSE 'sha256:' || encode(sha256(convert_to(field, 'UTF8')), 'hex') END;

-- The entries of a block that no service can have appended so: their places in it, from 1, and their
-- created_at, which need not be the time in their ids.
ALTER TABLE audit.blocks ADD COLUMN implausible integer[] NOT NULL DEFAULT '{}',
                         ADD COLUMN implausible_times timestamptz[] NOT NULL DEFAULT '{}';

-- What the audit service's role may append to the chains: blocks behind the last one, made by this
-- transaction and now, of what is settled, no larger than ours, and each at the place of an entry, so
-- that there are no more of them than entries. Whether they are ours is what their signature says.
CREATE FUNCTION audit.check_block() RETURNS trigger
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
     AND NEW.last_xid < pg_snapshot_xmin(pg_current_snapshot())
     AND NEW.made_xid = pg_current_xact_id()
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
CREATE TRIGGER check_block BEFORE INSERT ON audit.blocks
  FOR EACH ROW WHEN (current_user = 'conv_audit') EXECUTE FUNCTION audit.check_block();

-- And heads of blocks that there are.
CREATE FUNCTION audit.check_head() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM audit.blocks AS block
              WHERE block.organization_id = NEW.organization_id AND block.number = NEW.number
                AND block.last_xid = NEW.last_xid AND block.block_hash = NEW.block_hash) THEN
    RETURN NEW;
  END IF;
  RAISE check_violation USING MESSAGE = 'no block has that head';
END
$$;
CREATE TRIGGER check_head BEFORE INSERT ON audit.heads
  FOR EACH ROW WHEN (current_user = 'conv_audit') EXECUTE FUNCTION audit.check_head();

-- While one of these waits for its lock, appends to the trail wait behind it. So it waits next to
-- nothing, and tries again later: a dump of the database or a long transaction can be in the way.
ALTER FUNCTION audit.drop_oldest(integer) SET lock_timeout = '50ms';
ALTER FUNCTION audit.make_partition(timestamptz) SET lock_timeout = '50ms';

-- As before, but a block is kept for as long as an entry of it can be: one with a mark may be dated
-- ahead. So others before it can be gone.
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
       AND (SELECT next.made_at
              FROM audit.blocks AS next
             WHERE next.organization_id = block.organization_id AND next.number > block.number
             ORDER BY next.number
             LIMIT 1) < before
       AND NOT EXISTS (SELECT FROM unnest(block.implausible_times) AS at WHERE at >= before)
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
