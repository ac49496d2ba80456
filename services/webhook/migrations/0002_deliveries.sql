-- Endpoints, the queue of what is to be sent, and the log of what became of it.
--
-- An event goes from webhook.events to the queue, one row for each endpoint that wants it, and from
-- the queue to the log when it has been attempted. The queue is small and is worked on; the log is
-- large, is only appended to, and is dropped by the day.

-- Not yet looked at for endpoints. Claimed by this mark and never by "newer than the last one": a
-- transaction that takes long commits an event that is older than what has been handled.
ALTER TABLE webhook.events ADD COLUMN dispatched boolean NOT NULL DEFAULT false;
CREATE INDEX events_waiting ON webhook.events (created_at) WHERE NOT dispatched;
CREATE INDEX events_by_age ON webhook.events USING brin (created_at);

CREATE TABLE webhook.endpoints (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL,
  url             text        NOT NULL,
  events          text[]      NOT NULL CHECK (cardinality(events) > 0),
  signing         boolean     NOT NULL,
  secret          bytea       NOT NULL, -- sealed: common/crypto/seal.h
  enabled         boolean     NOT NULL DEFAULT true,
  created_at      timestamptz NOT NULL DEFAULT now(),
  updated_at      timestamptz NOT NULL DEFAULT now(),
  -- Counters never expire. Interrupted attempts count as attempts and say nothing of health.
  attempts             bigint  NOT NULL DEFAULT 0,
  consecutive_failures integer NOT NULL DEFAULT 0,
  last_success_at      timestamptz,
  last_failure_at      timestamptz,
  last_error           text,
  last_http_status     smallint, -- of the latest failure
  -- For fair claims: whether rows may be waiting, when it last had its turn, and whether its latest
  -- attempt succeeded.
  has_work        boolean     NOT NULL DEFAULT false,
  claimed_at      timestamptz,
  proven          boolean     NOT NULL DEFAULT false,
  PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
CREATE INDEX endpoints_with_work ON webhook.endpoints (organization_id, id) WHERE has_work;

CREATE SEQUENCE webhook.fence;

CREATE TABLE webhook.queue (
  organization_id uuid        NOT NULL,
  endpoint_id     uuid        NOT NULL,
  id              uuid        NOT NULL, -- of the delivery: a UUIDv7
  event_id        uuid        NOT NULL,
  event_type      text        NOT NULL,
  cause           text        NOT NULL, -- event, resend, test; again: the one before was cut off
  previous_id     uuid,                 -- the delivery that this one repeats
  crashes         smallint    NOT NULL DEFAULT 0, -- attempts in a row that were cut off
  created_at      timestamptz NOT NULL,
  claimed_at      timestamptz,
  lease_until     timestamptz, -- NULL: it waits
  fence           bigint,      -- only who holds this number may say what became of it
  PRIMARY KEY (organization_id, endpoint_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX queue_claimed ON webhook.queue (lease_until) WHERE lease_until IS NOT NULL;

-- created_at is the time inside the id, so a delivery is found by its id in one partition.
CREATE TABLE webhook.deliveries (
  organization_id uuid        NOT NULL,
  created_at      timestamptz NOT NULL,
  id              uuid        NOT NULL,
  endpoint_id     uuid        NOT NULL,
  event_id        uuid        NOT NULL,
  event_type      text        NOT NULL,
  cause           text        NOT NULL,
  previous_id     uuid,
  state           text        NOT NULL
    CHECK (state IN ('succeeded', 'failed', 'skipped', 'interrupted', 'quarantined')),
  error           text,     -- class of a failure, or why it was skipped
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
  PRIMARY KEY (organization_id, created_at, id)
) PARTITION BY RANGE (created_at);
CREATE INDEX deliveries_by_endpoint
  ON webhook.deliveries (organization_id, endpoint_id, created_at, id);

-- Takes what no day was made for, so that a lapse in upkeep never costs a delivery.
CREATE TABLE webhook.deliveries_default PARTITION OF webhook.deliveries DEFAULT;

-- A new UUIDv7 (RFC 9562) for a moment, and the moment inside one, in milliseconds. Both are plain
-- expressions, which the planner puts in place of the call: fanning out makes thousands.
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

-- What operators see.
CREATE FUNCTION webhook.shown(e webhook.endpoints) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', e.id, 'url', e.url, 'events', e.events, 'signing', e.signing, 'enabled', e.enabled,
    'health', CASE WHEN e.consecutive_failures >= 5 THEN 'failing'
                   WHEN e.consecutive_failures >= 2 THEN 'degraded' ELSE 'healthy' END,
    'attempts', e.attempts, 'consecutive_failures', e.consecutive_failures,
    'last_error', e.last_error, 'last_http_status', e.last_http_status,
    'last_failure_at', floor(extract(epoch FROM e.last_failure_at))::bigint,
    'last_success_at', floor(extract(epoch FROM e.last_success_at))::bigint,
    'created_at', floor(extract(epoch FROM e.created_at))::bigint,
    'updated_at', floor(extract(epoch FROM e.updated_at))::bigint)
$$;
CREATE FUNCTION webhook.shown(d webhook.deliveries) RETURNS json
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
  SELECT json_build_object(
    'id', d.id, 'endpoint_id', d.endpoint_id,
    'event_id', 'evt_' || replace(d.event_id::text, '-', ''), 'event_type', d.event_type,
    'cause', d.cause, 'previous_id', d.previous_id, 'state', d.state,
    'http_status', d.http_status, 'error', d.error,
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
    'cause', q.cause, 'previous_id', q.previous_id,
    'state', CASE WHEN q.lease_until IS NULL THEN 'pending' ELSE 'claimed' END,
    'http_status', NULL, 'error', NULL, 'duration_ms', NULL, 'timings', NULL,
    'address', NULL, 'excerpt', NULL,
    'created_at', floor(extract(epoch FROM q.created_at))::bigint,
    'started_at', floor(extract(epoch FROM q.claimed_at))::bigint,
    'finished_at', NULL)
$$;

-- Makes the partition of a day unless it exists; what the default partition holds of it moves in.
CREATE FUNCTION webhook.make_partition(day timestamptz) RETURNS boolean
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '1s'
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

-- Locked by the process that makes or drops partitions, until its transaction ends. Nobody but the owner of
-- keep_partitions() has rights on it, and everybody can take an advisory lock.
CREATE TABLE webhook.partitioning ();

-- False: another process makes or drops partitions.
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
REVOKE ALL ON FUNCTION webhook.lock_partitioning() FROM PUBLIC;

-- Keeps today's partition and the next two in place and drops what is older than 30 days; events
-- go a day later, so that whatever the log shows can be sent again. Returns how many partitions
-- were made, were dropped, and how many rows lie where no day was made for them. Whoever may call
-- it can do that much and nothing else. A replica that finds another one at it leaves it to that
-- one.
CREATE FUNCTION webhook.keep_partitions(OUT made integer, OUT dropped integer, OUT stray bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '1s'
SET enable_bitmapscan = on -- the only way to use events_by_age
AS $$
DECLARE
  today constant timestamptz := date_trunc('day', now());
  old text;
BEGIN
  made := 0;
  dropped := 0;
  stray := 0;
  IF NOT webhook.lock_partitioning() THEN
    RETURN;
  END IF;
  FOR ahead IN 0..2 LOOP
    IF webhook.make_partition(today + ahead * interval '1 day') THEN
      made := made + 1;
    END IF;
  END LOOP;
  FOR old IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'webhook.deliveries'::regclass
       AND c.relname < 'deliveries_' || to_char(today - interval '30 days', 'YYYY_MM_DD')
  LOOP
    EXECUTE format('DROP TABLE webhook.%I', old);
    dropped := dropped + 1;
  END LOOP;
  DELETE FROM webhook.events
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM webhook.events
                            WHERE created_at < today - interval '31 days' AND dispatched
                            LIMIT 10000));
  SELECT count(*) INTO stray FROM webhook.deliveries_default;
END
$$;

REVOKE ALL ON FUNCTION webhook.id_at(timestamptz), webhook.time_of(uuid), webhook.shown(webhook.endpoints),
  webhook.shown(webhook.deliveries), webhook.shown(webhook.queue),
  webhook.make_partition(timestamptz), webhook.keep_partitions() FROM PUBLIC;

SELECT webhook.keep_partitions();

GRANT EXECUTE ON FUNCTION webhook.id_at(timestamptz), webhook.time_of(uuid),
  webhook.shown(webhook.endpoints), webhook.shown(webhook.deliveries),
  webhook.shown(webhook.queue), webhook.keep_partitions() TO conv_webhook;
GRANT UPDATE (dispatched) ON webhook.events TO conv_webhook;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook.endpoints, webhook.queue TO conv_webhook;
GRANT SELECT, INSERT ON webhook.deliveries TO conv_webhook;
GRANT USAGE ON SEQUENCE webhook.fence TO conv_webhook;

-- Statements are prepared once for each connection. A plan that is made while the tables are nearly
-- empty must be the right one when they are full.
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

-- Locked by the one transaction at a time that changes the queue. Who has no right to change the table cannot lock it,
-- and everybody can take an advisory lock. It has no rows: a lock of the table takes no number of a transaction and
-- writes nothing, unlike one of a row.
CREATE TABLE webhook.queue_turn ();
GRANT UPDATE ON webhook.queue_turn TO conv_webhook;

-- Waits for the transaction that has it.
CREATE FUNCTION webhook.lock_queue() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE webhook.queue_turn IN EXCLUSIVE MODE;
END
$$;
REVOKE ALL ON FUNCTION webhook.lock_queue() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION webhook.lock_queue() TO conv_webhook;
