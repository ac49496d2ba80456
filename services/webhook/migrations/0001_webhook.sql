-- Endpoints, and the way of an event to them: the outbox of events, the queue of deliveries, and the log of what became
-- of each (docs/webhooks.md).
--
-- The sender takes events from webhook.events, puts a row into the queue for each endpoint that wants one, and moves it
-- from the queue to the log when it has been attempted. The queue is small, and rows in it are updated; the log is
-- large, is only appended to, and loses whole days.
--
-- An old snapshot (a dump, a report, a move) keeps every row version that has come since, and every entry of an index
-- that leads to one. So neither the sender nor a create looks for a row by a key under which these accumulate: what
-- they look for has numbers that only grow, and they begin at the end, or at the lowest number that lives.

CREATE SCHEMA webhook;

CREATE SEQUENCE webhook.fence;   -- numbers of claims
CREATE SEQUENCE webhook.version; -- versions of the rows of progress and statistics

-- -- tables ----------------------------------------------------------------------------------------------------------

-- The outbox: a service writes an event in the transaction that causes it. conversation writes those of conversations,
-- and can neither read nor change them; webhook writes those that operators and external systems publish. Events are
-- deleted a day later than their deliveries, so whatever the log shows can be sent again.
CREATE TABLE webhook.events (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL, -- a UUIDv7; sent as `evt_` and its 32 hexadecimal digits
  type            text        COLLATE "C" NOT NULL,
  data            jsonb       NOT NULL,
  created_at      timestamptz NOT NULL,
  -- Whether the sender has taken it. "Newer than the last one" would not tell: a transaction that takes long commits an
  -- event that is older than others that have been taken already.
  dispatched      boolean     NOT NULL DEFAULT false,
  -- Its transaction, as in the audit log, where numbers go on in another cell and on another server: an endpoint gets
  -- the events of later transactions, whatever clocks show.
  number          xid8        NOT NULL DEFAULT audit.number_of(pg_current_xact_id()),
  -- The same as this server's snapshots have it, without what audit.number_of() adds: the sender looks for events that
  -- the snapshot of its last turn did not show, and so finds them however late their transactions commit.
  xid             xid8        NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (organization_id, id)
);

-- The endpoints as operators and users of the dashboard set them. Creates of conversations read which events they want
-- (wanted_events). What the sender updates is in webhook.progress.
CREATE TABLE webhook.endpoints (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL,
  url             text        NOT NULL,
  events          text[]      NOT NULL CHECK (cardinality(events) > 0),
  signing         boolean     NOT NULL,
  secret          bytea       NOT NULL, -- sealed: common/crypto/crypto.h
  enabled         boolean     NOT NULL DEFAULT true,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  reported_at     timestamptz, -- when the log last reported that it has failed for long
  retry_schedule  text        NOT NULL DEFAULT 'none' CHECK (retry_schedule IN ('none', 'standard')),
  next_secret     bytea,       -- signs when the rotation is finished; sealed, too
  next_secret_at  timestamptz,
  number          xid8        NOT NULL DEFAULT audit.number_of(pg_current_xact_id()), -- as in webhook.events
  PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- What has become of the deliveries to each endpoint, and what waits for it: one row, created and deleted with it. The
-- sender updates it. The version is new with each update and a part of the key, so the living row is the first from
-- the end:
--   WHERE organization_id = ... AND id = ... ORDER BY version DESC LIMIT 1
CREATE TABLE webhook.progress (
  organization_id      uuid        NOT NULL,
  id                   uuid        NOT NULL, -- of the endpoint
  version              bigint      NOT NULL DEFAULT nextval('webhook.version'),
  -- Counters never expire. Interrupted attempts count as attempts, but not for health.
  attempts             bigint      NOT NULL DEFAULT 0,
  consecutive_failures integer     NOT NULL DEFAULT 0,
  last_success_at      timestamptz,
  last_failure_at      timestamptz,
  last_error           text,
  last_http_status     smallint,                       -- of the latest attempt
  failing_since        timestamptz,                    -- the first of the failures in a row
  retries_waiting      integer     NOT NULL DEFAULT 0, -- rows of webhook.retries
  retry_at             timestamptz,                    -- when to look at them next; NULL: there are none
  -- None of them is due before this; those that were are dead. retry_at is later while retries that are due wait for
  -- the endpoint's turn or for the organization's next minute.
  retries_from         timestamptz,
  -- For fair claims: none of its waiting deliveries has a lower id than this (NULL: none waits), when it last had its
  -- turn, and whether its latest attempt succeeded.
  waits_from           uuid,
  claimed_at           timestamptz,
  proven               boolean     NOT NULL DEFAULT false,
  PRIMARY KEY (organization_id, id, version),
  FOREIGN KEY (organization_id, id) REFERENCES webhook.endpoints ON DELETE CASCADE
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Deliveries to be attempted. A claim sets the four columns about it; a process that has lost the reply to its claim
-- can release what it does not attempt.
CREATE TABLE webhook.queue (
  organization_id uuid        NOT NULL,
  endpoint_id     uuid        NOT NULL,
  id              uuid        NOT NULL, -- of the delivery: a UUIDv7
  event_id        uuid        NOT NULL,
  event_type      text        NOT NULL,
  cause           text        NOT NULL, -- event, resend, retry, test; recovery: the one before was interrupted
  previous_id     uuid,                 -- the delivery that this one repeats
  crashes         smallint    NOT NULL DEFAULT 0, -- attempts in a row that were interrupted
  created_at      timestamptz NOT NULL,
  claimed_at      timestamptz,
  lease_until     timestamptz, -- NULL: it waits
  fence           bigint,      -- the number of the claim: only with it can the delivery be completed
  worker          uuid,        -- the process that has the claim
  retry           smallint    NOT NULL DEFAULT 0, -- how many retries led to it; 0: the first attempt, or a resend
  PRIMARY KEY (organization_id, endpoint_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Locked by the one transaction at a time that changes the queue. Only roles that may change the table can lock it,
-- while any role could take an advisory lock. It has no rows: unlike the lock of a row, that of a table takes no
-- number of a transaction and writes nothing.
CREATE TABLE webhook.queue_turn ();

-- Likewise, by the process that creates or drops partitions. Only the owner has rights on it, as whom
-- keep_partitions() runs.
CREATE TABLE webhook.partitioning ();

-- Resends of failed deliveries, by the thousand: here they wait for the queue, which takes them in steps.
CREATE TABLE webhook.resends (
  organization_id uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  event_id        uuid NOT NULL,
  event_type      text NOT NULL,
  previous_id     uuid NOT NULL, -- the delivery that is repeated
  PRIMARY KEY (organization_id, endpoint_id, event_id)
);

-- Retries that wait until they are due; one for an event and endpoint. They are deleted with their endpoint.
CREATE TABLE webhook.retries (
  organization_id uuid        NOT NULL,
  endpoint_id     uuid        NOT NULL,
  event_id        uuid        NOT NULL,
  event_type      text        NOT NULL,
  previous_id     uuid        NOT NULL, -- the delivery that failed
  retry           smallint    NOT NULL, -- the number that it will have, from 1
  due_at          timestamptz NOT NULL,
  PRIMARY KEY (organization_id, endpoint_id, event_id),
  FOREIGN KEY (organization_id, endpoint_id) REFERENCES webhook.endpoints ON DELETE CASCADE
);

-- The log. created_at is the time inside the id, so a delivery is found by its id in one partition; one partition for
-- each day, in UTC, kept for 30 days.
CREATE TABLE webhook.deliveries (
  organization_id uuid        NOT NULL,
  created_at      timestamptz NOT NULL,
  id              uuid        NOT NULL,
  endpoint_id     uuid        NOT NULL,
  event_id        uuid        NOT NULL,
  event_type      text        NOT NULL,
  cause           text        NOT NULL, -- this and the next as in the queue
  previous_id     uuid,
  state           text        NOT NULL
    CHECK (state IN ('succeeded', 'failed', 'skipped', 'interrupted', 'quarantined')),
  error           text,     -- the kind of a failure, or why it was skipped
  http_status     smallint,
  started_at      timestamptz,
  finished_at     timestamptz NOT NULL,
  dns_us          integer,
  connect_us      integer,
  tls_us          integer,
  wait_us         integer,
  total_us        integer,
  address         text,
  excerpt         text,
  retry           smallint    NOT NULL DEFAULT 0, -- as in the queue
  PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);

-- Takes deliveries of days without a partition, so that a lapse of keep_partitions() never costs one.
CREATE TABLE webhook.deliveries_default PARTITION OF webhook.deliveries DEFAULT;

-- What an organization had in a minute: attempts by their result, so that a week can be shown without reading the log;
-- and what it was given of its budgets. Updated by the transaction that has the queue's lock, with a new version each
-- time, as in webhook.progress. Kept for 8 days.
CREATE TABLE webhook.statistics (
  organization_id uuid        NOT NULL,
  minute          timestamptz NOT NULL,
  delivered       integer     NOT NULL,
  failed          integer     NOT NULL,
  skipped         integer     NOT NULL DEFAULT 0, -- in the log or not
  queued          integer     NOT NULL DEFAULT 0, -- new events and resends
  retried         integer     NOT NULL DEFAULT 0, -- retries have a budget of their own: they take nothing from events
  version         bigint      NOT NULL DEFAULT nextval('webhook.version'),
  PRIMARY KEY (organization_id, minute, version)
);

-- -- indexes ---------------------------------------------------------------------------------------------------------

-- Events that wait (fan_out.sql): which organizations have some, by the snapshot of the last turn, and then the oldest
-- of one organization, so that one with many does not keep the others waiting. The two conditions are written
-- differently, so that each index serves only the statements that are written like it: both look alike to the planner,
-- since few events wait at a time.
CREATE INDEX events_waiting_by_xid ON webhook.events (xid)
  WHERE dispatched IS NOT TRUE AND xid IS NOT NULL;
CREATE INDEX events_waiting_by_organization ON webhook.events (organization_id, created_at, id)
  WHERE NOT dispatched;

-- Endpoints with waiting deliveries (claim.sql) and with retries (queue_retries.sql), from the lowest version that
-- lives, and the due retries of one endpoint.
CREATE INDEX progress_waiting ON webhook.progress (version) WHERE waits_from IS NOT NULL;
CREATE INDEX progress_to_retry ON webhook.progress (version) WHERE retry_at IS NOT NULL;
CREATE INDEX retries_due ON webhook.retries (organization_id, endpoint_id, due_at);

-- Claims, by their numbers: those that live are the last ones (claim.sql, recover.sql, release.sql, renew.sql).
CREATE INDEX queue_claimed ON webhook.queue (fence) WHERE fence IS NOT NULL;

-- The log of one endpoint: list_deliveries.sql.
CREATE INDEX deliveries_by_endpoint ON webhook.deliveries (organization_id, endpoint_id, created_at, id);

-- For resend_failed.sql: an endpoint's deliveries that did not succeed; and those of an event that is sent once more,
-- which name the one before. A delivery that is sent once and succeeds is in none of them.
CREATE INDEX deliveries_unsuccessful ON webhook.deliveries (organization_id, endpoint_id, created_at, id)
  WHERE state <> 'succeeded';
CREATE INDEX deliveries_again ON webhook.deliveries (event_id) WHERE previous_id IS NOT NULL;
CREATE INDEX queue_again ON webhook.queue (event_id) WHERE previous_id IS NOT NULL;

-- -- functions and views ---------------------------------------------------------------------------------------------

-- A create writes no event if no endpoint of the organization wants its type: it would lead to no delivery.
CREATE VIEW webhook.wanted_events AS SELECT organization_id, events FROM webhook.endpoints;

-- A new UUIDv7 (RFC 9562) of a moment, and the moment inside one, in milliseconds. Both are expressions that the
-- planner puts in the place of the call: a turn of the sender makes thousands.
CREATE FUNCTION webhook.id_at(moment timestamptz) RETURNS uuid
LANGUAGE sql VOLATILE
AS $$
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) PLACING
           substring(int8send(floor(extract(epoch FROM moment) * 1000)::bigint) FROM 3)
           FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;
CREATE FUNCTION webhook.time_of(id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE
AS $$
  SELECT to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;

-- The lowest id that a delivery made at a moment may have.
CREATE FUNCTION webhook.lowest_id_at(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $$
  SELECT encode(substring(int8send(floor(extract(epoch FROM moment) * 1000)::bigint) FROM 3)
                || '\x00000000000000000000', 'hex')::uuid
$$;

-- An endpoint as operators and users see it. No progress: it has just been created.
CREATE FUNCTION webhook.shown(e webhook.endpoints, p webhook.progress) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', e.id, 'url', e.url, 'events', e.events, 'signing', e.signing, 'enabled', e.enabled,
    'retries', e.retry_schedule, 'retries_waiting', coalesce(p.retries_waiting, 0),
    'next_retry_at', floor(extract(epoch FROM p.retry_at))::bigint,
    'health', CASE WHEN p.consecutive_failures >= 5 THEN 'failing'
                   WHEN p.consecutive_failures >= 2 THEN 'degraded' ELSE 'healthy' END,
    'attempts', coalesce(p.attempts, 0), 'consecutive_failures', coalesce(p.consecutive_failures, 0),
    'last_error', p.last_error, 'last_http_status', p.last_http_status,
    'failing_since', floor(extract(epoch FROM p.failing_since))::bigint,
    'last_failure_at', floor(extract(epoch FROM p.last_failure_at))::bigint,
    'last_success_at', floor(extract(epoch FROM p.last_success_at))::bigint,
    'next_secret_at', floor(extract(epoch FROM e.next_secret_at))::bigint,
    'created_at', floor(extract(epoch FROM e.created_at))::bigint,
    'updated_at', floor(extract(epoch FROM e.updated_at))::bigint)
$$;

-- A delivery, of the log or of the queue.
CREATE FUNCTION webhook.shown(d webhook.deliveries) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', d.id, 'endpoint_id', d.endpoint_id,
    'event_id', 'evt_' || replace(d.event_id::text, '-', ''), 'event_type', d.event_type,
    'cause', d.cause, 'retry', d.retry, 'previous_id', d.previous_id, 'state', d.state,
    'http_status', d.http_status, 'error', d.error,
    'retry_at', CASE WHEN d.state = 'failed' THEN (
      SELECT floor(extract(epoch FROM r.due_at))::bigint FROM webhook.retries r
       WHERE r.organization_id = d.organization_id AND r.endpoint_id = d.endpoint_id
         AND r.event_id = d.event_id AND r.previous_id = d.id) END,
    'duration_ms', round(d.total_us / 1000.0, 1),
    'timings', CASE WHEN d.total_us IS NOT NULL THEN json_build_object(
      'dns_ms', round(d.dns_us / 1000.0, 1), 'connect_ms', round(d.connect_us / 1000.0, 1),
      'tls_ms', round(d.tls_us / 1000.0, 1), 'wait_ms', round(d.wait_us / 1000.0, 1)) END,
    'address', d.address, 'excerpt', d.excerpt,
    'created_at', floor(extract(epoch FROM d.created_at))::bigint,
    'started_at', floor(extract(epoch FROM d.started_at))::bigint,
    'finished_at', floor(extract(epoch FROM d.finished_at))::bigint)
$$;
CREATE FUNCTION webhook.shown(q webhook.queue) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', q.id, 'endpoint_id', q.endpoint_id,
    'event_id', 'evt_' || replace(q.event_id::text, '-', ''), 'event_type', q.event_type,
    'cause', q.cause, 'retry', q.retry, 'previous_id', q.previous_id,
    'state', CASE WHEN q.lease_until IS NULL THEN 'pending' ELSE 'claimed' END,
    'http_status', NULL, 'error', NULL, 'retry_at', NULL, 'duration_ms', NULL, 'timings', NULL,
    'address', NULL, 'excerpt', NULL,
    'created_at', floor(extract(epoch FROM q.created_at))::bigint,
    'started_at', floor(extract(epoch FROM q.claimed_at))::bigint,
    'finished_at', NULL)
$$;

CREATE FUNCTION webhook.begin_progress() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  INSERT INTO webhook.progress (organization_id, id) VALUES (NEW.organization_id, NEW.id);
  RETURN NULL;
END
$$;
CREATE TRIGGER begin_progress AFTER INSERT ON webhook.endpoints
  FOR EACH ROW EXECUTE FUNCTION webhook.begin_progress();

-- Waits for the transaction that has the lock.
CREATE FUNCTION webhook.lock_queue() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE webhook.queue_turn IN EXCLUSIVE MODE;
END
$$;

-- Creates the partition of a day unless it exists; rows of that day in the default partition are moved into it.
CREATE FUNCTION webhook.make_partition(day timestamptz) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '50ms'
AS $$
DECLARE
  until_day constant timestamptz := day + interval '1 day';
  partition constant text := 'deliveries_' || to_char(day, 'YYYY_MM_DD');
BEGIN
  IF to_regclass('webhook.' || partition) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE webhook.%I (LIKE webhook.deliveries INCLUDING ALL)', partition);
  LOCK TABLE webhook.deliveries_default IN ACCESS EXCLUSIVE MODE;
  EXECUTE format(
    'WITH moved AS (DELETE FROM webhook.deliveries_default
                     WHERE created_at >= %L AND created_at < %L RETURNING *)
     INSERT INTO webhook.%I SELECT * FROM moved', day, until_day, partition);
  EXECUTE format(
    'ALTER TABLE webhook.deliveries ATTACH PARTITION webhook.%I FOR VALUES FROM (%L) TO (%L)',
    partition, day, until_day);
  RETURN true;
END
$$;

-- False: another process creates or drops partitions.
CREATE FUNCTION webhook.lock_partitioning() RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE webhook.partitioning IN EXCLUSIVE MODE NOWAIT;
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END
$$;

-- Creates one of the partitions of today and the next two days, or drops one that is older than 30 days. Returns how
-- many were created, how many were dropped, how many rows are in the default partition, and whether locks were in the
-- way. It runs as its owner and does nothing else, whoever calls it.
--
-- Dropping a day waits for all that read it, and later readers of the log wait behind that. So a call changes one day
-- at most, in a transaction of its own, and waits for a moment only; if it is busy, it is called again soon. A replica
-- that finds another one doing this leaves it to that one.
CREATE FUNCTION webhook.keep_partitions(OUT made integer, OUT dropped integer, OUT stray bigint, OUT busy boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '50ms'
AS $$
DECLARE
  today constant timestamptz := date_trunc('day', now());
  old text;
BEGIN
  made := 0;
  dropped := 0;
  stray := 0;
  busy := false;
  IF NOT webhook.lock_partitioning() THEN
    RETURN;
  END IF;
  BEGIN
    FOR ahead IN 0..2 LOOP
      EXIT WHEN made > 0;
      IF webhook.make_partition(today + ahead * interval '1 day') THEN
        made := 1;
      END IF;
    END LOOP;
    SELECT c.relname INTO old
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'webhook.deliveries'::regclass AND made = 0
       AND c.relname < 'deliveries_' || to_char(today - interval '30 days', 'YYYY_MM_DD')
     ORDER BY c.relname
     LIMIT 1;
    IF old IS NOT NULL THEN
      EXECUTE format('DROP TABLE webhook.%I', old);
      dropped := 1;
    END IF;
  EXCEPTION WHEN lock_not_available THEN
    made := 0;
    dropped := 0;
    busy := true;
  END;
  SELECT count(*) INTO stray FROM webhook.deliveries_default;
END
$$;
SELECT webhook.keep_partitions() FROM generate_series(1, 3);

-- Deletes up to `most` events whose deliveries are no longer in the log, except those of organizations that another
-- cell serves or will serve, which are compared with that cell's; returns how many. In steps, as often as necessary:
-- more events may come in an hour than one step should delete. They are found by their ids, which have the time: an
-- index by age would become useless as the space of old rows is used for new ones.
CREATE FUNCTION webhook.drop_events(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
  until constant timestamptz := date_trunc('day', now()) - interval '31 days';
  until_id constant uuid := webhook.id_at(until);
  dropped integer;
BEGIN
  WITH RECURSIVE organizations AS (
    (SELECT organization_id AS id FROM webhook.events ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT organization_id FROM webhook.events
             WHERE organization_id > o.id ORDER BY organization_id LIMIT 1)
      FROM organizations o
     WHERE o.id IS NOT NULL
  ), old AS (
    SELECT e.spot
      FROM organizations o
     CROSS JOIN LATERAL (
       SELECT ctid AS spot FROM webhook.events
        WHERE organization_id = o.id AND id < until_id AND created_at < until AND dispatched
        ORDER BY id
        LIMIT most) AS e
     WHERE o.id NOT IN (SELECT organization_id FROM cell.closed)
     LIMIT most
  )
  DELETE FROM webhook.events WHERE ctid = ANY (ARRAY(SELECT spot FROM old));
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END
$$;

-- -- grants ----------------------------------------------------------------------------------------------------------

-- What an event may be is in a policy: its condition is a part of the prepared plan, while PostgreSQL would read and
-- plan a CHECK constraint again for every statement that writes an event, as every batch of creates does. It binds all
-- roles but the owner.
ALTER TABLE webhook.events ENABLE ROW LEVEL SECURITY;
CREATE POLICY open ON webhook.events USING (true);
CREATE POLICY sound ON webhook.events AS RESTRICTIVE FOR INSERT WITH CHECK (
  isfinite(created_at) AND octet_length(type) <= 64 AND pg_column_size(data) <= 65536);

GRANT USAGE ON SCHEMA webhook TO conv_conversation, conv_webhook;
-- No role chooses the number or the transaction of an event.
GRANT INSERT (organization_id, id, type, data, created_at) ON webhook.events TO conv_conversation;
GRANT SELECT ON webhook.wanted_events TO conv_conversation;

GRANT SELECT, INSERT (organization_id, id, type, data, created_at, dispatched), UPDATE (dispatched)
  ON webhook.events TO conv_webhook;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook.endpoints, webhook.queue TO conv_webhook;
GRANT SELECT, INSERT, UPDATE ON webhook.progress TO conv_webhook;
GRANT SELECT, INSERT, DELETE ON webhook.resends, webhook.retries TO conv_webhook;
GRANT SELECT, INSERT ON webhook.deliveries TO conv_webhook;
GRANT SELECT, INSERT, DELETE, UPDATE (delivered, failed, skipped, queued, retried, version)
  ON webhook.statistics TO conv_webhook;
GRANT UPDATE ON webhook.queue_turn TO conv_webhook;
GRANT USAGE ON SEQUENCE webhook.fence, webhook.version TO conv_webhook;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA webhook FROM PUBLIC;
GRANT EXECUTE ON FUNCTION webhook.id_at(timestamptz), webhook.time_of(uuid), webhook.lowest_id_at(timestamptz),
  webhook.shown(webhook.endpoints, webhook.progress), webhook.shown(webhook.deliveries), webhook.shown(webhook.queue),
  webhook.lock_queue(), webhook.keep_partitions(), webhook.drop_events(integer) TO conv_webhook;

-- Statements are prepared once for each connection. A plan that is made while the tables are nearly empty must be the
-- right one when they are full: an index, whatever the statistics say.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['enable_seqscan = off', 'enable_bitmapscan = off', 'jit = off',
                                 'plan_cache_mode = force_generic_plan'] LOOP
    EXECUTE format('ALTER ROLE conv_webhook IN DATABASE %I SET %s', current_database(), setting);
  END LOOP;
END
$$;
