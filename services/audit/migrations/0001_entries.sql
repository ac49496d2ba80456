-- The audit trail: one row for every authenticated request that got an answer. Services append in
-- the transaction of their work; nobody changes or removes a row.
--
-- created_at is the time inside request_id (a UUIDv7), so one request can only ever have one key,
-- and the order of the key is the order of the list. There is no other index: every row is paid for
-- by the request that it records.

CREATE SCHEMA audit;

CREATE TABLE audit.entries (
  organization_id uuid        NOT NULL,
  created_at      timestamptz NOT NULL,
  request_id      uuid        NOT NULL,
  api_key_id      uuid        NOT NULL,
  operation       text        NOT NULL,
  http_status     smallint    NOT NULL,
  outcome         text        NOT NULL,
  denial_reason   text,
  conversation_id uuid,
  contact_id      uuid,
  PRIMARY KEY (organization_id, created_at, request_id)
) PARTITION BY RANGE (created_at);

-- Takes what no month was made for, so that a lapse in upkeep never costs an entry.
CREATE TABLE audit.entries_default PARTITION OF audit.entries DEFAULT;

-- Makes the partition of the month that begins at `month` unless it exists. What the default
-- partition holds of that month moves into it. A partition is attached rather than created in
-- place: that leaves the parent open for appends.
CREATE FUNCTION audit.make_partition(month timestamptz) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '1s'
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
REVOKE ALL ON FUNCTION audit.make_partition(timestamptz) FROM PUBLIC;

-- Locked by the process that makes or drops partitions, until its transaction ends. Nobody but the owner of the
-- functions that do so has rights on it, and everybody can take an advisory lock.
CREATE TABLE audit.partitioning ();

-- False: another process makes or drops partitions.
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
REVOKE ALL ON FUNCTION audit.lock_partitioning() FROM PUBLIC;

-- Keeps the partitions of this month and the next two in place; returns how many it made. Whoever
-- may call it can do that much and nothing else: it takes no argument and runs as its owner.
-- A replica that finds another one at it leaves it to that one.
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
REVOKE ALL ON FUNCTION audit.keep_partitions() FROM PUBLIC;

SELECT audit.keep_partitions();

-- Rights are checked on the parent only, so partitions need none of their own. Appending to the
-- trail needs no right to read it.
GRANT USAGE ON SCHEMA audit TO conv_audit, conv_conversation, conv_search;
GRANT INSERT ON audit.entries TO conv_audit, conv_conversation, conv_search;
GRANT SELECT ON audit.entries TO conv_audit;
GRANT EXECUTE ON FUNCTION audit.keep_partitions() TO conv_audit;

-- Statements are prepared once for each connection. A plan that is made while the trail is nearly
-- empty must be the right one when it is full.
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
