-- Organizations that are on the move between cells (docs/cells.md), and what moves one: logical replication of
-- the rows that have its id. `convctl cell move` calls the functions, as the owner; no service may.

-- leaving:  to another cell. All goes on but new attempts to deliver, and these too where nobody goes on with the
--           move for a minute.
-- closed:   nothing is written any more, and no command is run. Should nobody go on with the move, the seal makes it
--           leaving again after ten seconds (audit.move_expire()).
-- gone:     likewise, for good: it is served elsewhere, and whoever does not know yet is refused.
-- arriving: from another cell. Its rows come in, and nobody touches them.
CREATE TABLE audit.moving (
  organization_id uuid PRIMARY KEY,
  state text NOT NULL CHECK (state IN ('leaving', 'closed', 'gone', 'arriving')),
  since timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON audit.moving TO conv_audit, conv_conversation, conv_search, conv_webhook;

-- Organizations that another cell serves, or will in a moment. No clock decides: what was closed by a state is open
-- by another one.
CREATE VIEW audit.closed AS
SELECT organization_id FROM audit.moving WHERE state <> 'leaving';
GRANT SELECT ON audit.closed TO conv_audit, conv_conversation, conv_search, conv_webhook;

-- Those of which no delivery is begun.
CREATE VIEW audit.paused AS
SELECT organization_id
  FROM audit.moving
 WHERE organization_id IN (SELECT organization_id FROM audit.closed)
    OR (state = 'leaving' AND since > clock_timestamp() - interval '1 minute');
GRANT SELECT ON audit.paused TO conv_webhook;

-- Raises an error if one of these organizations is closed here: what is to be written is rolled back. Called by
-- what writes, in its own statement, only where the table has rows at all.
CREATE FUNCTION audit.admit(organizations uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM audit.closed WHERE organization_id = ANY (organizations)) THEN
    RAISE SQLSTATE 'CM001' USING MESSAGE = 'an organization is served by another cell';
  END IF;
  RETURN true;
END
$$;

-- What is an organization's, in the order in which rows can be deleted.
CREATE FUNCTION audit.moved_tables() RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY['conversation.messages', 'conversation.conversations', 'conversation.contacts',
             'webhook.retries', 'webhook.resends', 'webhook.queue', 'webhook.events',
             'webhook.deliveries', 'webhook.statistics', 'webhook.progress', 'webhook.endpoints',
             'audit.changes', 'audit.minimums', 'audit.heads', 'audit.blocks', 'audit.entries'];
REVOKE ALL ON FUNCTION audit.moved_tables() FROM PUBLIC;

-- Of publication, slot and subscription: PostgreSQL takes up to 63 bytes.
CREATE FUNCTION audit.move_name(organization uuid) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN 'move_' || replace(organization::text, '-', '');
REVOKE ALL ON FUNCTION audit.move_name(uuid) FROM PUBLIC;

-- -- where it comes from --------------------------------------------------------------------------

-- Both are safe to repeat. The slot keeps the write-ahead log until it is dropped.
CREATE FUNCTION audit.move_publish(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := audit.move_name(organization);
BEGIN
  IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = name) THEN
    EXECUTE format('CREATE PUBLICATION %I FOR TABLE %s WITH (publish_via_partition_root = true)', name,
                   (SELECT string_agg(format('%s WHERE (organization_id = %L)', moved, organization), ', ')
                      FROM unnest(audit.moved_tables()) AS moved));
  END IF;
END
$$;
REVOKE ALL ON FUNCTION audit.move_publish(uuid) FROM PUBLIC;

CREATE FUNCTION audit.move_unpublish(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := audit.move_name(organization);
BEGIN
  PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = name;
  EXECUTE format('DROP PUBLICATION IF EXISTS %I', name);
END
$$;
REVOKE ALL ON FUNCTION audit.move_unpublish(uuid) FROM PUBLIC;

-- -- where it goes --------------------------------------------------------------------------------

-- Numbers of transactions here are greater than `above`, that of the other cell, and stay so for two thousand
-- million of its transactions: blocks and entries that come from there then lie below all that is sealed here
-- from now on, and so far below that audit.here_above() tells them from what was made here. See
-- audit.continue_numbers(). Those who append wait for a moment at most; it fails where somebody
-- reads for longer, and is called again.
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
  LOCK TABLE audit.entries IN ACCESS EXCLUSIVE MODE;
  INSERT INTO audit.numbering AS present (added)
  VALUES (wanted + room - pg_current_xact_id()::text::bigint)
      ON CONFLICT (is_only) DO UPDATE SET added = EXCLUDED.added;
  EXECUTE (SELECT format('ALTER TABLE audit.entries ALTER COLUMN xid
                          SET DEFAULT audit.numbered(pg_current_xact_id(), %s)', added)
             FROM audit.numbering);
END
$$;
REVOKE ALL ON FUNCTION audit.raise_numbers(xid8) FROM PUBLIC;

-- Numbers above this one were taken on this server: those that come from other cells are lower, and so are its own
-- from before they were raised. So what has such a number says something about this server's time.
CREATE FUNCTION audit.here_above() RETURNS xid8
LANGUAGE sql STABLE PARALLEL SAFE
RETURN greatest(audit.horizon()::text::bigint - 2147483648, 0)::text::xid8;

-- Everything that was written here with a number up to `above`, or before numbers were raised, is sealed.
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
REVOKE ALL ON FUNCTION audit.is_sealed_below(xid8) FROM PUBLIC;

-- A table a month or a day for what is about to come, where the other cell has one.
CREATE FUNCTION audit.make_partitions_of(partitions text[]) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '50ms'
SET timezone = 'UTC'
AS $$
DECLARE
  partition text;
BEGIN
  FOREACH partition IN ARRAY partitions LOOP
    IF partition ~ '^entries_\d{4}_\d{2}$' THEN
      PERFORM audit.make_partition(to_timestamp(right(partition, 7), 'YYYY_MM'));
    ELSIF partition ~ '^deliveries_\d{4}_\d{2}_\d{2}$' THEN
      PERFORM webhook.make_partition(to_timestamp(right(partition, 10), 'YYYY_MM_DD'));
    END IF;
  END LOOP;
END
$$;
REVOKE ALL ON FUNCTION audit.make_partitions_of(text[]) FROM PUBLIC;

CREATE FUNCTION audit.partitions() RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT coalesce(array_agg(c.relname ORDER BY c.relname), '{}')
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   WHERE i.inhparent IN (to_regclass('audit.entries'), to_regclass('webhook.deliveries'))
     AND c.relname NOT LIKE '%default'
$$;
REVOKE ALL ON FUNCTION audit.partitions() FROM PUBLIC;

-- `conninfo` leads to the other cell. The rows are there, as they were when the slot was made; from now on they are
-- followed by what has changed since. What fails is said without the statement, since that has a password in it.
CREATE FUNCTION audit.move_subscribe(organization uuid, conninfo text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := audit.move_name(organization);
BEGIN
  EXECUTE format('CREATE SUBSCRIPTION %I CONNECTION %L PUBLICATION %I
                  WITH (create_slot = false, copy_data = false, slot_name = %L)', name, conninfo, name, name);
EXCEPTION WHEN OTHERS THEN
  RAISE SQLSTATE '08006' USING MESSAGE = SQLERRM;
END
$$;
REVOKE ALL ON FUNCTION audit.move_subscribe(uuid, text) FROM PUBLIC;

-- Nothing is followed any more. False: there is no subscription.
CREATE FUNCTION audit.move_disable(organization uuid) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := audit.move_name(organization);
BEGIN
  IF NOT EXISTS (SELECT FROM pg_subscription JOIN pg_database ON pg_database.oid = subdbid
                  WHERE subname = name AND datname = current_database()) THEN
    RETURN false;
  END IF;
  EXECUTE format('ALTER SUBSCRIPTION %I DISABLE', name);
  RETURN true;
END
$$;
REVOKE ALL ON FUNCTION audit.move_disable(uuid) FROM PUBLIC;

CREATE FUNCTION audit.move_unsubscribe(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := audit.move_name(organization);
BEGIN
  IF audit.move_disable(organization) THEN
    EXECUTE format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', name);
    EXECUTE format('DROP SUBSCRIPTION %I', name);
  END IF;
END
$$;
REVOKE ALL ON FUNCTION audit.move_unsubscribe(uuid) FROM PUBLIC;

-- -- both -----------------------------------------------------------------------------------------

-- How many rows each table has of it, and a sum over what is in them, which must be the same in any session of any
-- server.
CREATE FUNCTION audit.move_sums(organization uuid) RETURNS TABLE (name text, n bigint, sum numeric)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
SET intervalstyle = 'postgres'
SET bytea_output = 'hex'
SET extra_float_digits = 3
AS $$
BEGIN
  FOREACH name IN ARRAY audit.moved_tables() LOOP
    EXECUTE format('SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)
                      FROM %s AS t WHERE organization_id = %L', name, organization) INTO n, sum;
    RETURN NEXT;
  END LOOP;
END
$$;
REVOKE ALL ON FUNCTION audit.move_sums(uuid) FROM PUBLIC;

-- Deletes about `most` rows of it from one of audit.moved_tables(), which has none in those before; how many there
-- were. By an index: the rows that were deleted before are passed over there.
CREATE FUNCTION audit.move_delete(organization uuid, moved text, most integer) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
  deleted integer;
BEGIN
  -- Another partition may have a row of it at the same place, which then goes as well.
  EXECUTE format('DELETE FROM %1$s WHERE organization_id = %2$L AND ctid = ANY
                  (ARRAY(SELECT ctid FROM %1$s WHERE organization_id = %2$L LIMIT %3$s))',
                 moved, organization, most);
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$$;
REVOKE ALL ON FUNCTION audit.move_delete(uuid, text, integer) FROM PUBLIC;
