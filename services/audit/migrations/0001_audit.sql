-- The audit log with its seal (docs/audit.md), and the log of changes.
--
-- Services append to both in the transaction of their work, and no service's role can change or remove a row:
-- retention drops whole months. What a service's role can append is bounded, so that no row can be what a statement or a process
-- fails on. The seal follows the numbers of transactions, not clocks.

CREATE SCHEMA audit;

-- -- tables ----------------------------------------------------------------------------------------------------------

-- The audit log: one row for each API request of a valid key that was answered. conversation and search append in the
-- transaction of their work (common/audit_log), audit what the gateway answered by itself.
--
-- created_at is the time inside request_id (a UUIDv7), so one request has exactly one key, and the order of the key is
-- the order of the list. Every index is paid for by the request that a row records, so there are only two. One
-- partition for each month, in UTC.
CREATE TABLE audit.entries (
  organization_id uuid        NOT NULL,
  created_at      timestamptz NOT NULL,
  request_id      uuid        NOT NULL,
  api_key_id      uuid        NOT NULL,
  operation       text        NOT NULL, -- proto/operation.def
  http_status     smallint    NOT NULL,
  outcome         text        NOT NULL,
  denial_reason   text,
  conversation_id uuid,
  contact_id      uuid,
  -- The transaction that wrote it; continue_numbers() and raise_numbers() change the default. All transactions below
  -- the oldest one that still runs are settled: none of their entries can appear any more, however long a commit took.
  -- created_at does not tell that.
  xid             xid8        NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (organization_id, created_at, request_id)
) PARTITION BY RANGE (created_at);

-- Takes entries of months without a partition, so that a lapse of keep_partitions() never costs an entry.
CREATE TABLE audit.entries_default PARTITION OF audit.entries DEFAULT;

-- The seal: blocks of entries, each with the hash of the block before it, one chain for each organization. The sealer
-- appends them (services/audit/sealer.c).
CREATE TABLE audit.blocks (
  organization_id   uuid          NOT NULL,
  number            bigint        NOT NULL CHECK (number > 0),
  previous_hash     bytea         NOT NULL,
  entries           bigint        NOT NULL, -- of the chain up to and with this block
  last_xid          xid8          NOT NULL, -- with last_request_id, the place of its last entry in the order of sealing
  last_request_id   uuid          NOT NULL,
  made_xid          xid8          NOT NULL, -- the transaction that made it: greater ones came later
  made_at           timestamptz   NOT NULL,
  request_ids       uuid[]        NOT NULL, -- of its entries, in the order of sealing
  entry_hashes      bytea         NOT NULL, -- 32 bytes for each, in the same order
  block_hash        bytea         NOT NULL,
  key_id            text          NOT NULL,
  signature         bytea         NOT NULL,
  -- Marks of the entries that no service can have appended in this form: their places in the block, from 1, and their
  -- created_at, which need not be the time in their ids.
  implausible       integer[]     NOT NULL DEFAULT '{}',
  implausible_times timestamptz[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (organization_id, number)
);
-- Random bytes cannot be compressed.
ALTER TABLE audit.blocks ALTER COLUMN request_ids SET STORAGE EXTERNAL, ALTER COLUMN entry_hashes SET STORAGE EXTERNAL;

-- The heads that have been published: blocks that were the last of their chain at some minute.
CREATE TABLE audit.heads (
  organization_id uuid        NOT NULL,
  number          bigint      NOT NULL,
  last_xid        xid8        NOT NULL,
  block_hash      bytea       NOT NULL,
  published_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, number)
);

-- Locked by the process that seals, until its transaction ends. Only roles that may change the table can lock it,
-- while any role could take an advisory lock. It has no rows: unlike the lock of a row, that of a table takes no
-- number of a transaction and writes nothing.
CREATE TABLE audit.sealing ();

-- Likewise, by the process that creates or drops partitions. Only the owner has rights on it, as whom the functions
-- that do so run.
CREATE TABLE audit.partitioning ();

-- What is added to the numbers of this server's transactions: see continue_numbers() and raise_numbers(). One row;
-- 0 on the server on which the audit log began.
CREATE TABLE audit.numbering (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  added   bigint  NOT NULL DEFAULT 0 CHECK (added BETWEEN 0 AND 4611686018427387904)
);
INSERT INTO audit.numbering DEFAULT VALUES;

-- The log of changes: what operators and users of the dashboard have changed. conversation, webhook and audit append in
-- the transaction of the change, and audit what access sends to it. It is kept for as long as the audit log.
CREATE TABLE audit.changes (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL, -- a UUIDv7: the order of the list
  created_at      timestamptz NOT NULL DEFAULT now(),
  who             text        NOT NULL, -- the user's email address, or operator
  user_id         uuid,                 -- NULL: an operator
  change          text        NOT NULL, -- proto/change.def
  target          text,                 -- the id of what was changed
  detail          json        NOT NULL, -- never a secret
  address         text,                 -- the user's
  PRIMARY KEY (organization_id, id),
  CONSTRAINT changes_texts CHECK (octet_length(who) <= 1024 AND octet_length(change) <= 64 AND
                                  octet_length(target) <= 1024 AND octet_length(address) <= 64),
  CONSTRAINT changes_detail CHECK (octet_length(detail::text) <= 65536)
);

-- How many months an organization's entries are kept at least. Rows are only added, and the longest counts: an
-- operator can lengthen it, and only the owner of the table can shorten it.
CREATE TABLE audit.minimums (
  organization_id uuid        NOT NULL,
  months          integer     NOT NULL CHECK (months BETWEEN 1 AND 1200),
  set_at          timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, months)
);

-- Retention notes: each says that all entries from before `until` were dropped. They are signed as blocks are, so the
-- owner of the database cannot remove old entries and make it look like retention.
CREATE TABLE audit.dropped (
  until      timestamptz PRIMARY KEY,
  dropped_at timestamptz NOT NULL DEFAULT now(),
  since      timestamptz, -- `until` of the signed note before it; NULL: this is the first
  months     integer,     -- how many were kept
  dropped_by text,        -- the replica
  key_id     text,
  signature  bytea,       -- NULL: nobody signed it, and verifying reports it
  CONSTRAINT dropped_bounds CHECK (signature IS NULL OR
                                   (months >= 3 AND octet_length(signature) = 64 AND
                                    octet_length(key_id) BETWEEN 1 AND 64 AND strpos(key_id, E'\n') = 0 AND
                                    octet_length(dropped_by) BETWEEN 1 AND 64 AND
                                    strpos(dropped_by, E'\n') = 0) IS TRUE)
);

-- -- indexes ---------------------------------------------------------------------------------------------------------

-- The order of sealing: list_unsealed.sql, read_waiting.sql and is_sealed_below(). Appends go to its last page.
CREATE INDEX entries_by_xid ON audit.entries (xid, organization_id, request_id);

-- How far everything is sealed: read_place.sql and list_places.sql. It ends with the number and not with the id of the
-- last entry, so that it does not have the order of the next index: while the statistics know of few blocks, the
-- planner would walk through those of all organizations to find one organization's.
CREATE INDEX blocks_by_xid ON audit.blocks (last_xid, organization_id, number);

-- The block that an entry must be in: list_covered_entries.sql. Several blocks may end with the same entry: if only one
-- could, a foreign block in the place of one of ours would stop the sealing of all organizations.
CREATE INDEX blocks_of_organization ON audit.blocks (organization_id, last_xid, last_request_id);

-- How far heads are published: list_heads_to_publish.sql.
CREATE INDEX heads_by_xid ON audit.heads (last_xid);

-- For drop_changes(): old changes lie together.
CREATE INDEX changes_by_age ON audit.changes USING brin (created_at);

-- -- functions: times and texts --------------------------------------------------------------------------------------

-- The time inside a UUIDv7, which is created_at of the entry with this id. Every entry that is appended is compared
-- with it.
CREATE FUNCTION audit.time_of(request_id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_timestamp(('x' || translate(left(request_id::text, 13), '-', ''))::bit(48)::bigint::float8 / 1000);

-- Unix microseconds as text, of any time: also "Infinity", and more than a bigint takes.
CREATE FUNCTION audit.us(at timestamptz) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN trunc(extract(epoch FROM at) * 1000000)::text;

-- The time of so many Unix microseconds, exact for all times that a UUIDv7 can have: numbers are multiplied with
-- intervals in floating point.
CREATE FUNCTION audit.at(us bigint) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'epoch'::timestamptz + us / 1000000 * interval '1 second' + us % 1000000 * interval '1 microsecond';

-- A text as it is hashed and shown. One that is longer than any that services write is represented by its hash, so a
-- row takes no more memory than others, whatever is in it. Stable, because convert_to() is: only then is it made a
-- part of the statement that calls it, which saves sealing two thirds of its cost.
CREATE FUNCTION audit.brief(field text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN octet_length(field) <= 256 THEN field
            ELSE 'sha256:' || encode(sha256(convert_to(field, 'UTF8')), 'hex') END;

-- -- functions: the numbers of transactions --------------------------------------------------------------------------

-- The number of a transaction with what is added to it.
CREATE FUNCTION audit.numbered(xid xid8, added bigint) RETURNS xid8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (xid::text::bigint + added)::text::xid8;

-- The number of a transaction of this server, as entries and blocks have it.
CREATE FUNCTION audit.number_of(xid xid8) RETURNS xid8
LANGUAGE sql STABLE PARALLEL SAFE
RETURN audit.numbered(xid, coalesce((SELECT added FROM audit.numbering), 0));

-- All transactions below this number are settled.
CREATE FUNCTION audit.horizon() RETURNS xid8
LANGUAGE sql STABLE PARALLEL SAFE
RETURN audit.number_of(pg_snapshot_xmin(pg_current_snapshot()));

-- All numbers above this one were taken on this server: those of other cells are lower, and so are this server's own
-- from before raise_numbers(). So a block with such a number says something about this server's time.
CREATE FUNCTION audit.here_above() RETURNS xid8
LANGUAGE sql STABLE PARALLEL SAFE
RETURN greatest(audit.horizon()::text::bigint - 2147483648, 0)::text::xid8;

-- Whether everything is sealed that was written here with a number up to `above`, or before raise_numbers().
CREATE FUNCTION audit.is_sealed_below(above xid8) RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT NOT EXISTS (
    SELECT
      FROM (SELECT xid, organization_id, request_id FROM audit.entries
             WHERE xid <= above
             ORDER BY xid DESC, organization_id DESC, request_id DESC LIMIT 1) AS entry
     WHERE (entry.xid, entry.organization_id, entry.request_id) >
           ALL (SELECT last_xid, organization_id, last_request_id FROM audit.blocks
                 ORDER BY last_xid DESC, organization_id DESC, number DESC LIMIT 1))
$$;

-- For an audit log that was restored on another server, where numbers begin again: makes all later numbers greater than
-- those in the log. Returns what is added now, or NULL if no number lies ahead; `migrate` calls it each time.
--
-- Only the greatest numbers are looked at, below 2^61: no server reaches that, so a greater number was forged. The
-- sealer makes blocks in the order of their entries, so the greatest number of a transaction that made a block is among
-- the last blocks. Appends wait: an entry is committed with a number from before, or gets one from after. Nobody appends
-- to a partition itself, so neither its default nor its lock matters: a vacuum would hold the latter for minutes.
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
    LOCK TABLE ONLY audit.entries IN ACCESS EXCLUSIVE MODE;
  END LOOP;
  INSERT INTO audit.numbering AS present (added)
  VALUES (last::text::bigint + step - pg_current_xact_id()::text::bigint)
      ON CONFLICT (is_only) DO UPDATE SET added = EXCLUDED.added;
  EXECUTE (SELECT format('ALTER TABLE ONLY audit.entries ALTER COLUMN xid
                          SET DEFAULT audit.numbered(pg_current_xact_id(), %s)', added)
             FROM audit.numbering);
  RETURN (SELECT added FROM audit.numbering);
END
$$;

-- For a move of an organization to this cell: makes all later numbers greater than `above`, that of the other cell, for
-- the next two thousand million of its transactions. Blocks and entries that come from there then have lower numbers
-- than all that are sealed here from now on, so much lower that here_above() tells them from those made here. Appends
-- wait for a moment at most. It fails while a transaction reads for longer, and is then called again.
CREATE FUNCTION audit.raise_numbers(above xid8) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '50ms'
AS $$
DECLARE
  room constant bigint := 2147483648;
  wanted constant bigint := above::text::bigint + 2 * room;
BEGIN
  IF audit.number_of(pg_current_xact_id())::text::bigint >= wanted THEN
    RETURN;
  END IF;
  LOCK TABLE ONLY audit.entries IN ACCESS EXCLUSIVE MODE;
  INSERT INTO audit.numbering AS present (added)
  VALUES (wanted + room - pg_current_xact_id()::text::bigint)
      ON CONFLICT (is_only) DO UPDATE SET added = EXCLUDED.added;
  EXECUTE (SELECT format('ALTER TABLE ONLY audit.entries ALTER COLUMN xid
                          SET DEFAULT audit.numbered(pg_current_xact_id(), %s)', added)
             FROM audit.numbering);
END
$$;

-- Gives entries of an organization that the seal has passed over a number of now: those after its newest block. None of
-- them is older than `since`, or, if that is NULL, than the newest block, minus the minute that an entry may be old
-- when it is appended and the time that a commit may take. This bounds what is read where there are millions.
CREATE FUNCTION audit.renumber(organization uuid, since timestamptz) RETURNS void
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

-- -- functions: sealing ----------------------------------------------------------------------------------------------

-- False: another process seals.
CREATE FUNCTION audit.lock_sealing() RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE audit.sealing IN EXCLUSIVE MODE NOWAIT;
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END
$$;

-- The blocks that audit's role may append: after the last one of the chain, made by this transaction and now, of
-- settled entries, no larger than ours, and each at the place of an entry, so that there are no more blocks than
-- entries. Whether they are ours is what their signature says.
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
CREATE TRIGGER check_block BEFORE INSERT ON audit.blocks
  FOR EACH ROW WHEN (current_user = 'conv_audit') EXECUTE FUNCTION audit.check_block();

-- The heads that it may append: of blocks that exist.
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

-- -- functions: partitions and retention -----------------------------------------------------------------------------
--
-- Appends queue behind a function that waits for the lock of audit.entries. So these give up after 50 ms and are called
-- again later: a dump of the database or a long transaction can be in the way. Those that run as the owner (SECURITY
-- DEFINER) do nothing but what is said here, whoever calls them.

-- Creates the partition of the month that begins at `month`, unless it exists, and moves entries of the month from the
-- default partition into it. A partition is attached rather than created in place: the parent stays open for appends.
CREATE FUNCTION audit.make_partition(month timestamptz) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '50ms'
AS $$
DECLARE
  until_month constant timestamptz := month + interval '1 month';
  partition   constant text := 'entries_' || to_char(month, 'YYYY_MM');
BEGIN
  IF to_regclass('audit.' || partition) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE audit.%I (LIKE audit.entries INCLUDING ALL)', partition);
  LOCK TABLE audit.entries_default IN ACCESS EXCLUSIVE MODE;
  EXECUTE format(
    'WITH moved AS (DELETE FROM audit.entries_default
                     WHERE created_at >= %L AND created_at < %L RETURNING *)
     INSERT INTO audit.%I SELECT * FROM moved', month, until_month, partition);
  EXECUTE format('ALTER TABLE audit.entries ATTACH PARTITION audit.%I FOR VALUES FROM (%L) TO (%L)',
                 partition, month, until_month);
  RETURN true;
END
$$;

-- False: another process creates or drops partitions.
CREATE FUNCTION audit.lock_partitioning() RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE audit.partitioning IN EXCLUSIVE MODE NOWAIT;
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END
$$;

-- Creates the partitions of this month and the next two if they are missing; returns how many were. A replica that
-- finds another one doing so leaves it to that one.
CREATE FUNCTION audit.keep_partitions() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
  made integer := 0;
BEGIN
  IF NOT audit.lock_partitioning() THEN
    RETURN 0;
  END IF;
  FOR ahead IN 0..2 LOOP
    IF audit.make_partition(date_trunc('month', now()) + ahead * interval '1 month') THEN
      made := made + 1;
    END IF;
  END LOOP;
  RETURN made;
END
$$;

-- How many entries are in the default partition: none, unless a month was not created in time or an entry has an absurd
-- date. Counts up to a thousand.
CREATE FUNCTION audit.count_strays() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT count(*) FROM (SELECT FROM audit.entries_default LIMIT 1000) AS stray $$;

-- Whether the month of `partition`, which ends at `until`, may be dropped now: it is `months` old, and old enough for
-- every organization that has an entry in it.
CREATE FUNCTION audit.may_drop(partition regclass, until timestamptz, months integer) RETURNS boolean
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

-- The oldest month, if it may be dropped, and its end; NULL: none may. No month is old enough by a number of months
-- that is less than three, or NULL.
CREATE FUNCTION audit.find_droppable(months integer, OUT partition text, OUT until timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
BEGIN
  IF coalesce(months, 0) < 3 THEN
    RAISE EXCEPTION 'the audit log is kept for at least three months';
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

-- Drops that month, if it still may be dropped, and notes it; returns its name, or NULL. Whether the note is ours is
-- what its signature says. A note of this month that exists already is none of ours, since the month existed until now.
CREATE FUNCTION audit.drop_month(months integer, until timestamptz, since timestamptz, dropped_at timestamptz,
                                 dropped_by text, key_id text, signature bytea) RETURNS text
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

-- Deletes up to `most` blocks of dropped months, with the records of their heads; returns how many. It keeps the last
-- such block of each chain, so a chain begins with its first block or with one from before what was dropped: this
-- distinguishes retention from tampering. A block is also kept while it may have an entry: a mark may be of one with a
-- later date.
CREATE FUNCTION audit.drop_blocks(most integer) RETURNS integer
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

-- Deletes up to `most` changes from before the end of the last month that was dropped, unless the organization's
-- minimum is longer; returns how many.
CREATE FUNCTION audit.drop_changes(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_bitmapscan = on -- the only way to use changes_by_age
AS $$
DECLARE
  dropped integer;
BEGIN
  DELETE FROM audit.changes
   WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM audit.changes AS change
            WHERE created_at < (SELECT max(until) FROM audit.dropped)
              AND NOT EXISTS (SELECT FROM audit.minimums AS minimum
                               WHERE minimum.organization_id = change.organization_id
                                 AND change.created_at + minimum.months * interval '1 month'
                                     > now())
            LIMIT most));
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END
$$;

SELECT audit.keep_partitions();

-- -- functions: the server -------------------------------------------------------------------------------------------

-- Figures of the whole server for the metrics (docs/alerts.md), in one row. It runs as its owner, because other roles
-- do not see the sessions of others: only a superuser and members of pg_monitor do. If the owner is neither, figures of
-- sessions and of the archive's backlog are those of an idle server.
--   next_transaction    the number of the next transaction, with its epoch
--   oldest_transaction  rows that this transaction or a later one has deleted cannot be vacuumed: a session, a prepared
--                       transaction, a slot or a standby may still read them. Sessions that run VACUUM do not count
--   snapshot_seconds    how long the oldest of these sessions and prepared transactions has lasted
--   unfrozen            the age of the oldest rows that are not frozen, in transactions or multixacts; of all databases
--   archive_fails       the last attempt to archive a segment of the write-ahead log failed
--   archive_waiting     segments that wait to be archived
--   moves_abandoned     moves of organizations that have begun and are not over, and whose lock no call of
--                       `convctl cell move` holds (services/convctl/sql/lock_move.sql)
CREATE FUNCTION audit.watch_database(OUT next_transaction bigint, OUT oldest_transaction bigint,
                                     OUT snapshot_seconds bigint, OUT unfrozen bigint, OUT archive_fails boolean,
                                     OUT archive_waiting bigint, OUT moves_abandoned bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  held xid[];
BEGIN
  next_transaction := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  SELECT array_agg(holder.xid), coalesce(extract(epoch FROM clock_timestamp() - min(holder.since)), 0)
    INTO held, snapshot_seconds
    FROM (SELECT unnest(ARRAY[backend_xmin, backend_xid]) AS xid, xact_start AS since
            FROM pg_stat_activity
           WHERE pid <> pg_backend_pid() AND (datname = current_database() OR datid IS NULL)
             AND pid NOT IN (SELECT vacuum.pid FROM pg_stat_progress_vacuum AS vacuum)
          UNION ALL
          SELECT unnest(ARRAY[xmin, catalog_xmin]), NULL FROM pg_replication_slots
          UNION ALL
          SELECT transaction, prepared FROM pg_prepared_xacts WHERE database = current_database()) AS holder
   WHERE holder.xid IS NOT NULL;
  -- Numbers without an epoch, compared as PostgreSQL does; a session may have begun a moment ago.
  SELECT next_transaction - coalesce(max(behind) FILTER (WHERE behind < 2147483648), 0) INTO oldest_transaction
    FROM (SELECT (next_transaction - xid::text::bigint) & 4294967295 AS behind FROM unnest(held) AS xid) AS compared;

  SELECT max(greatest(age(datfrozenxid), mxid_age(datminmxid))) INTO unfrozen FROM pg_database;

  archive_waiting := 0;
  SELECT current_setting('archive_mode') <> 'off'
         AND last_failed_time > coalesce(last_archived_time, '-infinity') IS TRUE
    INTO archive_fails FROM pg_stat_archiver;
  IF has_function_privilege('pg_ls_archive_statusdir()', 'EXECUTE') THEN
    SELECT count(*) INTO archive_waiting FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready';
  END IF;

  SELECT count(*) INTO moves_abandoned
    FROM (SELECT organization_id::text AS organization FROM cell.moves WHERE state <> 'gone'
          UNION
          SELECT substr(pubname, length('move_') + 1)::uuid::text FROM pg_publication
           WHERE pubname ~ '^move_[0-9a-f]{32}$') AS moved
   WHERE NOT EXISTS (SELECT FROM pg_locks
                      WHERE locktype = 'advisory' AND objsubid = 1
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                        AND (classid::bigint << 32 | objid::bigint)
                            = hashtextextended('cell.move ' || organization, 0));
END
$$;

-- -- grants ----------------------------------------------------------------------------------------------------------

-- The bounds of entries are in a policy: its condition is a part of the prepared plan, while PostgreSQL would read and
-- plan a CHECK constraint again for every statement that appends. It binds all roles but the owner, who could drop a
-- constraint as well. An organization has one entry of an id, since the entry has the time in its id.
ALTER TABLE audit.entries ENABLE ROW LEVEL SECURITY;
CREATE POLICY readable ON audit.entries FOR SELECT USING (true); -- a role with SELECT reads all rows
CREATE POLICY bounded ON audit.entries FOR INSERT WITH CHECK (
  created_at >= '1970-01-01 00:00+00' AND created_at < '10900-01-01 00:00+00'
  AND created_at = audit.time_of(request_id)
  AND http_status BETWEEN 100 AND 599
  AND octet_length(operation) BETWEEN 1 AND 64 AND strpos(operation, E'\n') = 0
  AND octet_length(outcome) BETWEEN 1 AND 64 AND strpos(outcome, E'\n') = 0
  AND (denial_reason IS NULL
       OR octet_length(denial_reason) BETWEEN 1 AND 64 AND strpos(denial_reason, E'\n') = 0));

-- To append, a role needs no right to read, and it cannot choose the transaction of an entry. Rights are checked on the
-- parent only, so partitions have none of their own.
GRANT USAGE ON SCHEMA audit TO conv_audit, conv_conversation, conv_search, conv_webhook;
GRANT INSERT (organization_id, created_at, request_id, api_key_id, operation, http_status, outcome, denial_reason,
              conversation_id, contact_id)
  ON audit.entries TO conv_audit, conv_conversation, conv_search;

-- Nor can it choose the time of a change; only audit can, which records those of access later: the time in their ids.
GRANT INSERT (organization_id, id, who, user_id, change, target, detail, address)
  ON audit.changes TO conv_audit, conv_conversation, conv_webhook;
GRANT INSERT (created_at) ON audit.changes TO conv_audit;

GRANT SELECT ON audit.entries, audit.changes, audit.dropped TO conv_audit;
GRANT SELECT, INSERT ON audit.blocks, audit.heads, audit.minimums TO conv_audit;
GRANT UPDATE ON audit.sealing TO conv_audit;
-- Events and endpoints have the number of their transaction as well (webhook.events).
GRANT SELECT ON audit.numbering TO conv_audit, conv_conversation, conv_webhook;

REVOKE ALL ON FUNCTION audit.is_sealed_below(xid8), audit.continue_numbers(), audit.raise_numbers(xid8),
  audit.renumber(uuid, timestamptz), audit.lock_sealing(), audit.lock_partitioning(),
  audit.make_partition(timestamptz), audit.keep_partitions(),
  audit.count_strays(), audit.may_drop(regclass, timestamptz, integer), audit.find_droppable(integer),
  audit.drop_month(integer, timestamptz, timestamptz, timestamptz, text, text, bytea), audit.drop_blocks(integer),
  audit.drop_changes(integer), audit.watch_database() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.lock_sealing(), audit.keep_partitions(), audit.count_strays(),
  audit.find_droppable(integer),
  audit.drop_month(integer, timestamptz, timestamptz, timestamptz, text, text, bytea), audit.drop_blocks(integer),
  audit.drop_changes(integer), audit.watch_database() TO conv_audit;

-- Statements are prepared once for each connection. A plan that is made while the tables are nearly empty must be the
-- right one when they are full: an index, whatever the statistics say.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['enable_seqscan = off', 'enable_bitmapscan = off', 'jit = off',
                                 'plan_cache_mode = force_generic_plan'] LOOP
    EXECUTE format('ALTER ROLE conv_audit IN DATABASE %I SET %s', current_database(), setting);
  END LOOP;
END
$$;
