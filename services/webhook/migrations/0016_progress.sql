-- An old snapshot (a dump, a report, a move) keeps every row version that has come since, and every entry of
-- an index that leads to one. So nothing that the sender or a create does may look for a row by a key under
-- which these pile up: what follows is keyed by numbers that only grow, and is looked for from the end.

-- -- what turns update, apart from what operators change and creates read ---------------------------

-- The version is part of the key and is new with each update: the living row is the first from the end,
--   WHERE organization_id = ... AND id = ... ORDER BY version DESC LIMIT 1
-- and the statements that look for rows of all endpoints begin at the lowest version that lives.
CREATE SEQUENCE webhook.version;

-- One row for each endpoint. It goes with its endpoint, whatever deletes it.
CREATE TABLE webhook.progress (
  organization_id uuid   NOT NULL,
  id              uuid   NOT NULL, -- of the endpoint
  version         bigint NOT NULL DEFAULT nextval('webhook.version'),
  -- Counters never expire. Interrupted attempts count as attempts and say nothing of health.
  attempts             bigint  NOT NULL DEFAULT 0,
  consecutive_failures integer NOT NULL DEFAULT 0,
  last_success_at      timestamptz,
  last_failure_at      timestamptz,
  last_error           text,
  last_http_status     smallint,    -- of the latest attempt
  failing_since        timestamptz, -- the first of the failures in a row
  retries_waiting      integer NOT NULL DEFAULT 0, -- rows of webhook.retries
  retry_at             timestamptz, -- when to look at them next; NULL: there are none
  -- None of them is due before this: those that were are dead. retry_at is later while retries that are due wait for
  -- the endpoint's turn or for the organization's next minute.
  retries_from         timestamptz,
  -- For fair claims: none of its waiting deliveries has a lower id than this (NULL: none waits), when it last had
  -- its turn, and whether its latest attempt succeeded.
  waits_from           uuid,
  claimed_at           timestamptz,
  proven               boolean NOT NULL DEFAULT false,
  PRIMARY KEY (organization_id, id, version),
  FOREIGN KEY (organization_id, id) REFERENCES webhook.endpoints ON DELETE CASCADE
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- The lowest id that a delivery made at a moment may have.
CREATE FUNCTION webhook.lowest_id_at(moment timestamptz) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $$
  SELECT encode(substring(int8send(floor(extract(epoch FROM moment) * 1000)::bigint) FROM 3)
                || '\x00000000000000000000', 'hex')::uuid
$$;

INSERT INTO webhook.progress (organization_id, id, attempts, consecutive_failures, last_success_at,
                              last_failure_at, last_error, last_http_status, failing_since, retries_waiting,
                              retry_at, retries_from, waits_from, claimed_at, proven)
SELECT organization_id, id, attempts, consecutive_failures, last_success_at, last_failure_at, last_error,
       last_http_status, webhook.failing_since(e), retries_waiting, retry_at,
       '-infinity', CASE WHEN has_work THEN '00000000-0000-0000-0000-000000000000'::uuid END, claimed_at, proven
  FROM webhook.endpoints e;

CREATE INDEX progress_waiting ON webhook.progress (version) WHERE waits_from IS NOT NULL;
CREATE INDEX progress_to_retry ON webhook.progress (version) WHERE retry_at IS NOT NULL;

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

DROP FUNCTION webhook.shown(webhook.endpoints), webhook.failing_since(webhook.endpoints);
ALTER TABLE webhook.endpoints
  DROP COLUMN attempts, DROP COLUMN consecutive_failures, DROP COLUMN last_success_at,
  DROP COLUMN last_failure_at, DROP COLUMN last_error, DROP COLUMN last_http_status,
  DROP COLUMN failing_since, DROP COLUMN retries_waiting, DROP COLUMN retry_at, DROP COLUMN has_work,
  DROP COLUMN claimed_at, DROP COLUMN proven;

-- No progress yet: the endpoint has just been created.
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

REVOKE ALL ON FUNCTION webhook.lowest_id_at(timestamptz), webhook.begin_progress(),
  webhook.shown(webhook.endpoints, webhook.progress) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION webhook.lowest_id_at(timestamptz),
  webhook.shown(webhook.endpoints, webhook.progress) TO conv_webhook;
GRANT SELECT, INSERT, UPDATE ON webhook.progress TO conv_webhook;
GRANT USAGE ON SEQUENCE webhook.version TO conv_webhook;

-- -- claims ------------------------------------------------------------------------------------------

-- By the number of the claim, which only grows: claims that live are the last ones.
DROP INDEX webhook.queue_claimed;
CREATE INDEX queue_claimed ON webhook.queue (fence) WHERE fence IS NOT NULL;

-- -- budgets -----------------------------------------------------------------------------------------

-- What an organization was given in a minute is counted with what else is counted in the minute, by who has the
-- queue's lock.
DROP TABLE webhook.budgets;
ALTER TABLE webhook.statistics
  ADD COLUMN queued  integer NOT NULL DEFAULT 0, -- to be sent: new events and resends
  ADD COLUMN retried integer NOT NULL DEFAULT 0, -- retries, which have a budget of their own
  ADD COLUMN version bigint  NOT NULL DEFAULT nextval('webhook.version'),
  DROP CONSTRAINT statistics_pkey,
  ADD PRIMARY KEY (organization_id, minute, version),
  RESET (fillfactor);
GRANT UPDATE (queued, retried, version) ON webhook.statistics TO conv_webhook;
-- A plan made while the table is nearly empty would take it to look for an organization's minute.
DROP INDEX webhook.statistics_by_minute;

-- -- waiting events ----------------------------------------------------------------------------------

-- The transaction that wrote it. A turn looks for what the snapshot of the turn before did not show: however late
-- a transaction commits, its events are found. A snapshot has these numbers, not those of audit.number_of(), to
-- which more is added when an organization arrives. Events need both: `number` (0015_moving.sql) tells which
-- endpoints are older than the event, on any server, and whatever the database's clock shows.
ALTER TABLE webhook.events ADD COLUMN xid xid8 NOT NULL DEFAULT '3';
ALTER TABLE webhook.events ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
-- Written unlike that of events_waiting_by_organization, so that each serves only the statements that are written
-- like it: both look alike to the planner, since few events wait at a time.
CREATE INDEX events_waiting_by_xid ON webhook.events (xid)
  WHERE dispatched IS NOT TRUE AND xid IS NOT NULL;
