-- The organizations that move between cells or have moved away, and what moves one: logical replication of the rows
-- that have its id (docs/cells.md).
--
-- `convctl cell move` writes the table and calls the functions, as the owner of the database. Services read the table
-- and the views, and may call only admit(), audit also expire(). The functions name tables of audit, conversation and
-- webhook, which exist by the time of the first call.

CREATE SCHEMA cell;

-- -- tables ----------------------------------------------------------------------------------------------------------

-- The state of each organization that moves or has moved away. An organization without a row is served here.
--
-- leaving   it moves to another cell. All goes on except new attempts to deliver; these resume if nobody continues
--           the move for a minute.
-- closed    nothing is written any more, and no command is run. If nobody continues the move, the sealer makes it
--           `leaving` again after ten seconds (expire()).
-- gone      likewise, for good: another cell serves it, and a client or a program that does not know yet is refused.
-- arriving  it comes from another cell. Its rows are copied to here, and nobody else uses them.
CREATE TABLE cell.moves (
  organization_id uuid        PRIMARY KEY,
  state           text        NOT NULL CHECK (state IN ('leaving', 'closed', 'gone', 'arriving')),
  since           timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The organizations that another cell serves, or will serve in a moment. No clock decides: an organization that one
-- state has closed is opened by another state.
CREATE VIEW cell.closed AS
SELECT organization_id FROM cell.moves WHERE state <> 'leaving';

-- The organizations whose deliveries are not attempted now.
CREATE VIEW cell.paused AS
SELECT organization_id
  FROM cell.moves
 WHERE organization_id IN (SELECT organization_id FROM cell.closed)
    OR (state = 'leaving' AND since > clock_timestamp() - interval '1 minute');

-- -- what services ask -----------------------------------------------------------------------------------------------

-- Raises an error if one of these organizations is closed here, so that what is being written is rolled back. A
-- statement that writes calls it itself, and only if the table has rows at all:
--   WHERE (SELECT cell.admit(...) FROM cell.moves LIMIT 1) IS NOT FALSE
CREATE FUNCTION cell.admit(organizations uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF EXISTS (SELECT FROM cell.closed WHERE organization_id = ANY (organizations)) THEN
    RAISE SQLSTATE 'CM001' USING MESSAGE = 'an organization is served by another cell';
  END IF;
  RETURN true;
END
$$;

-- Opens organizations that were closed for a move which nobody has continued for ten seconds; returns how many. Their
-- entries that the seal has passed over meanwhile get a number of now, while their times can still be believed. The
-- clock only says when: a call that continues the move after this finds the organization leaving, not closed. The
-- caller holds the lock of audit.sealing.
CREATE FUNCTION cell.expire() RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  expired uuid;
  n integer := 0;
BEGIN
  FOR expired IN SELECT organization_id FROM cell.moves
                  WHERE state = 'closed' AND since <= clock_timestamp() - interval '10 seconds'
                    FOR UPDATE SKIP LOCKED
  LOOP
    PERFORM audit.renumber(expired, NULL);
    UPDATE cell.moves SET state = 'leaving' WHERE organization_id = expired;
    n := n + 1;
  END LOOP;
  RETURN n;
END
$$;

-- -- in both cells ---------------------------------------------------------------------------------------------------

-- The tables with rows of an organization, in the order in which these can be deleted.
CREATE FUNCTION cell.moved_tables() RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN ARRAY['conversation.messages', 'conversation.conversations', 'conversation.contacts',
             'webhook.retries', 'webhook.resends', 'webhook.queue', 'webhook.events',
             'webhook.deliveries', 'webhook.statistics', 'webhook.progress', 'webhook.endpoints',
             'audit.changes', 'audit.minimums', 'audit.heads', 'audit.blocks', 'audit.entries'];

-- The name of the publication, the slot and the subscription of a move; PostgreSQL allows 63 bytes.
CREATE FUNCTION cell.name_of(organization uuid) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN 'move_' || replace(organization::text, '-', '');

-- How many rows of it each table has, and a sum over their contents, which must be the same in any session of any
-- server.
CREATE FUNCTION cell.sum_rows(organization uuid) RETURNS TABLE (name text, n bigint, sum numeric)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET datestyle = 'ISO'
SET intervalstyle = 'postgres'
SET bytea_output = 'hex'
SET extra_float_digits = 3
AS $$
BEGIN
  FOREACH name IN ARRAY cell.moved_tables() LOOP
    EXECUTE format('SELECT count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)
                      FROM %s AS t WHERE organization_id = %L', name, organization) INTO n, sum;
    RETURN NEXT;
  END LOOP;
END
$$;

-- Deletes about `most` rows of it from one of moved_tables(), of which those before that one must have none any more;
-- returns how many. It uses an index, whose scan skips the rows that were deleted before.
CREATE FUNCTION cell.delete_rows(organization uuid, moved text, most integer) RETURNS integer
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
  deleted integer;
BEGIN
  -- Another partition may have a row of it at the same place, which is then deleted as well.
  EXECUTE format('DELETE FROM %1$s WHERE organization_id = %2$L AND ctid = ANY
                  (ARRAY(SELECT ctid FROM %1$s WHERE organization_id = %2$L LIMIT %3$s))',
                 moved, organization, most);
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END
$$;

-- From here on this cell serves the organization. Entries that the other cell had not sealed, or that were passed over
-- here while it was closed, get a number of now, so that the seal finds them: see audit.renumber() for `since`. No
-- block is made meanwhile, so that one that was about to be made includes them. It fails if another session keeps a
-- lock: the organization may be closed.
CREATE FUNCTION cell.open(organization uuid, since timestamptz) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET lock_timeout = '10s'
AS $$
BEGIN
  LOCK TABLE audit.sealing IN EXCLUSIVE MODE;
  PERFORM audit.renumber(organization, since);
  DELETE FROM cell.moves WHERE organization_id = organization;
END
$$;

-- -- in the cell that it leaves --------------------------------------------------------------------------------------

-- Both are safe to repeat. The slot, which convctl creates, keeps the write-ahead log until it is dropped.
CREATE FUNCTION cell.publish(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := cell.name_of(organization);
BEGIN
  IF NOT EXISTS (SELECT FROM pg_publication WHERE pubname = name) THEN
    EXECUTE format('CREATE PUBLICATION %I FOR TABLE %s WITH (publish_via_partition_root = true)', name,
                   (SELECT string_agg(format('%s WHERE (organization_id = %L)', moved, organization), ', ')
                      FROM unnest(cell.moved_tables()) AS moved));
  END IF;
END
$$;

CREATE FUNCTION cell.unpublish(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := cell.name_of(organization);
BEGIN
  PERFORM pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = name;
  EXECUTE format('DROP PUBLICATION IF EXISTS %I', name);
END
$$;

-- The names of its partitions, which tell the months and days for which it has some.
CREATE FUNCTION cell.partitions() RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT coalesce(array_agg(c.relname ORDER BY c.relname), '{}')
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   WHERE i.inhparent IN (to_regclass('audit.entries'), to_regclass('webhook.deliveries'))
     AND c.relname NOT LIKE '%default'
$$;

-- -- in the cell that it comes to ------------------------------------------------------------------------------------

-- Creates partitions for the months and days for which the other cell has some, so that no row lands in a default
-- partition.
CREATE FUNCTION cell.make_partitions(partitions text[]) RETURNS void
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

-- Follows the other cell, to which `conninfo` leads. The rows are here already, as they were when the slot was made;
-- what has changed since then comes now. An error is raised without the statement, which has a password in it; also
-- if the other cell does not answer until statement_timeout.
CREATE FUNCTION cell.subscribe(organization uuid, conninfo text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := cell.name_of(organization);
BEGIN
  EXECUTE format('CREATE SUBSCRIPTION %I CONNECTION %L PUBLICATION %I
                  WITH (create_slot = false, copy_data = false, slot_name = %L)', name, conninfo, name, name);
EXCEPTION
  WHEN QUERY_CANCELED THEN
    RAISE SQLSTATE '57014' USING MESSAGE = SQLERRM;
  WHEN OTHERS THEN
    RAISE SQLSTATE '08006' USING MESSAGE = SQLERRM;
END
$$;

-- Stops following. False: there is no subscription.
CREATE FUNCTION cell.disable(organization uuid) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := cell.name_of(organization);
BEGIN
  IF NOT EXISTS (SELECT FROM pg_subscription JOIN pg_database ON pg_database.oid = subdbid
                  WHERE subname = name AND datname = current_database()) THEN
    RETURN false;
  END IF;
  EXECUTE format('ALTER SUBSCRIPTION %I DISABLE', name);
  RETURN true;
END
$$;

CREATE FUNCTION cell.unsubscribe(organization uuid) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := cell.name_of(organization);
BEGIN
  IF cell.disable(organization) THEN
    EXECUTE format('ALTER SUBSCRIPTION %I SET (slot_name = NONE)', name);
    EXECUTE format('DROP SUBSCRIPTION %I', name);
  END IF;
END
$$;

-- -- grants ----------------------------------------------------------------------------------------------------------

GRANT USAGE ON SCHEMA cell TO conv_audit, conv_conversation, conv_search, conv_webhook;
GRANT SELECT ON cell.moves, cell.closed TO conv_audit, conv_conversation, conv_search, conv_webhook;
GRANT SELECT ON cell.paused TO conv_webhook;

REVOKE ALL ON FUNCTION cell.expire(), cell.moved_tables(), cell.name_of(uuid), cell.sum_rows(uuid),
  cell.delete_rows(uuid, text, integer), cell.open(uuid, timestamptz), cell.publish(uuid), cell.unpublish(uuid),
  cell.partitions(), cell.make_partitions(text[]), cell.subscribe(uuid, text), cell.disable(uuid),
  cell.unsubscribe(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cell.expire() TO conv_audit;
