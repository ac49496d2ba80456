-- Organizations with their plan, policy and cell; their API keys with limits and usage; their users with sessions.
-- Only the access service writes here and reads here.
--
-- Unique keys lead with the organization, except for counts of wrong passwords. What comes without one (a token, an email) is found by an index that is not
-- unique: 32 random characters do not occur twice, and several organizations may have a user with the same email.

CREATE SCHEMA access;

-- -- tables: organizations and keys ----------------------------------------------------------------------------------

-- Operators create organizations and set their plan and limit; they and users of the dashboard set the policy.
CREATE TABLE access.organizations (
  organization_id      uuid        PRIMARY KEY,
  name                 text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  plan                 text        NOT NULL CHECK (plan IN ('free', 'starter', 'growth', 'enterprise')),
  rate_limit           integer     CHECK (rate_limit >= 1), -- requests of a key in a window; NULL: the default
  require_https        boolean     NOT NULL DEFAULT false,
  ip_allowlist_enabled boolean     NOT NULL DEFAULT false,
  ip_allowlist         text[]      NOT NULL DEFAULT '{}', -- canonical spelling, no address twice
  created_at           timestamptz NOT NULL DEFAULT now(),
  -- The cell with its conversations, audit log and webhooks (docs/cells.md).
  cell                 text        NOT NULL DEFAULT 'main' CHECK (cell ~ '^[a-z][a-z0-9]{0,15}$'),
  CONSTRAINT ip_allowlist_is_not_empty_while_on CHECK (NOT ip_allowlist_enabled OR cardinality(ip_allowlist) > 0)
);

-- Moves of organizations between cells that are under way, and how far each has come. From `switching` on, a move can
-- only be finished.
CREATE TABLE access.moves (
  organization_id uuid        PRIMARY KEY REFERENCES access.organizations,
  from_cell       text        NOT NULL,
  to_cell         text        NOT NULL CHECK (to_cell ~ '^[a-z][a-z0-9]{0,15}$' AND to_cell <> from_cell),
  step            text        NOT NULL CHECK (step IN ('copying', 'switching', 'switched')),
  started_at      timestamptz NOT NULL DEFAULT now()
);

-- Of a key's token only the hash is stored, with as much of the token as helps people to tell keys apart.
CREATE TABLE access.api_keys (
  organization_id uuid        NOT NULL REFERENCES access.organizations,
  api_key_id      uuid        NOT NULL,
  token_hash      bytea       NOT NULL CHECK (octet_length(token_hash) = 32),
  name            text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
  scope           text        NOT NULL CHECK (scope IN ('read', 'full')),
  prefix          text        NOT NULL,
  last_four       text        NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT now(),
  expires_at      timestamptz,
  revoked_at      timestamptz,
  last_used_at    timestamptz,
  -- Rotating a key gives it an early end. If it is rotated again, for example because a reply was lost, its successor
  -- must last for as long as the key was created to last, and not until shortly after that end.
  replaced_at     timestamptz, -- when it was first rotated
  lifetime        interval,    -- as it was then; NULL: without end
  PRIMARY KEY (organization_id, api_key_id)
) WITH (fillfactor = 80);

-- What gateways have been granted of each window. Unlogged: a crash of the server forgets one window at most, and
-- granting costs no write-ahead log.
CREATE UNLOGGED TABLE access.quota (
  organization_id uuid    NOT NULL,
  api_key_id      uuid    NOT NULL, -- the nil UUID counts for the whole organization
  period          bigint  NOT NULL, -- Unix seconds / 10
  of_refusals     boolean NOT NULL, -- requests within the limits, or responses that refuse requests beyond them
  used            bigint  NOT NULL,
  granted         bigint  NOT NULL, -- by the last statement that changed the row
  PRIMARY KEY (organization_id, api_key_id, period, of_refusals)
) WITH (fillfactor = 50);

-- What keys were used for, by the minute, in the terms of proto/usage.def; kept for eight days. Gateways report a
-- minute in several parts.
CREATE TABLE access.usage (
  organization_id uuid      NOT NULL,
  api_key_id      uuid      NOT NULL,
  minute          bigint    NOT NULL, -- Unix seconds / 60
  allowed         integer   NOT NULL,
  denied          integer   NOT NULL,
  rejected        integer   NOT NULL,
  error           integer   NOT NULL,
  limited         integer   NOT NULL,
  latency         integer[] NOT NULL CHECK (cardinality(latency) = 13), -- requests in each bucket
  PRIMARY KEY (organization_id, minute, api_key_id)
) WITH (fillfactor = 70);

-- The same by the quarter of an hour, under its first minute: a week of many keys can be read without the ten thousand
-- minutes of each.
CREATE TABLE access.usage_quarters (LIKE access.usage INCLUDING ALL) WITH (fillfactor = 70);

-- Locked by the one transaction at a time that records a report. Only roles that may change the table can lock it,
-- while any role could take an advisory lock. It has no rows.
CREATE TABLE access.usage_turn ();

-- Changes on their way to the log of changes, which audit keeps in the database of the organization's cell: it may be
-- another database. A row is written in the transaction of the change, and deleted when audit has confirmed that the
-- log has it.
CREATE TABLE access.outbox (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL, -- a UUIDv7 with the time of the change; its id in the log
  created_at      timestamptz NOT NULL DEFAULT now(),
  who             text        NOT NULL, -- this and what follows as in audit.changes
  user_id         uuid,
  change          text        NOT NULL,
  target          text,
  detail          json        NOT NULL,
  address         text,
  due_at          timestamptz NOT NULL DEFAULT now(), -- until then another process sends it, or it is set aside
  refusal         text,                               -- the outcome with which audit refused it; NULL: it did not
  -- The organization's cell when the change was made. set_move.sql corrects it in a move, and claim_outbox.sql for a
  -- change that was made at the same time.
  cell            text        NOT NULL DEFAULT 'main' CHECK (cell ~ '^[a-z][a-z0-9]{0,15}$'),
  PRIMARY KEY (organization_id, id),
  -- What the log takes.
  CONSTRAINT outbox_texts CHECK (octet_length(who) BETWEEN 1 AND 1024 AND
                                 octet_length(change) BETWEEN 1 AND 64 AND
                                 octet_length(target) <= 1024 AND octet_length(address) <= 64),
  CONSTRAINT outbox_detail CHECK (octet_length(detail::text) <= 65536),
  CONSTRAINT outbox_refusal CHECK (octet_length(refusal) BETWEEN 1 AND 64)
) WITH (fillfactor = 70);

-- -- tables: users ---------------------------------------------------------------------------------------------------

-- Users of the dashboard. A user who is invited has a link that is valid for a while, and no password until the link is
-- used.
CREATE TABLE access.users (
  organization_id       uuid        NOT NULL REFERENCES access.organizations,
  user_id               uuid        NOT NULL,
  email                 text        NOT NULL CHECK (char_length(email) <= 255), -- in lower case
  role                  text        NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  password_hash         text,
  created_at            timestamptz NOT NULL DEFAULT now(),
  invitation_hash       bytea       CHECK (octet_length(invitation_hash) = 32),
  invitation_expires_at timestamptz,
  last_seen_at          timestamptz, -- also after the session has ended
  invited_by            uuid,        -- shown to the user who accepts; NULL: an operator
  invited_from          text,        -- the inviter's address
  PRIMARY KEY (organization_id, user_id),
  UNIQUE (organization_id, email),
  CONSTRAINT user_has_a_password_or_an_invitation
    CHECK ((password_hash IS NULL) = (invitation_hash IS NOT NULL)
           AND (invitation_hash IS NULL) = (invitation_expires_at IS NULL))
);

-- Sessions of users. Ending one deletes its row. Of its token only the hash is stored.
CREATE TABLE access.sessions (
  organization_id uuid        NOT NULL,
  session_id      uuid        NOT NULL,
  user_id         uuid        NOT NULL,
  token_hash      bytea       NOT NULL CHECK (octet_length(token_hash) = 32),
  address         text        NOT NULL,
  user_agent      text        NOT NULL CHECK (char_length(user_agent) <= 255),
  created_at      timestamptz NOT NULL DEFAULT now(),
  last_seen_at    timestamptz NOT NULL DEFAULT now(), -- to the minute
  PRIMARY KEY (organization_id, session_id),
  FOREIGN KEY (organization_id, user_id) REFERENCES access.users ON DELETE CASCADE
) WITH (fillfactor = 80);

-- Networks from which a user has signed in: guesses at the password from elsewhere do not keep the user out there.
CREATE TABLE access.sign_in_networks (
  organization_id uuid        NOT NULL,
  user_id         uuid        NOT NULL,
  network         text        NOT NULL, -- 192.0.2.0/24, 2001:db8:1::/48
  signed_in_at    timestamptz NOT NULL DEFAULT now(), -- the last time
  PRIMARY KEY (organization_id, user_id, network),
  FOREIGN KEY (organization_id, user_id) REFERENCES access.users ON DELETE CASCADE
) WITH (fillfactor = 80);

-- Wrong passwords in a minute, for an email, an address and a user. These are stored as hashes, since people type
-- passwords where emails belong. Unlogged: a crash of the server forgives a minute.
CREATE UNLOGGED TABLE access.attempts (
  counted  bytea   NOT NULL,
  minute   bigint  NOT NULL, -- Unix seconds / 60
  attempts integer NOT NULL,
  PRIMARY KEY (counted, minute)
) WITH (fillfactor = 50);

-- -- indexes ---------------------------------------------------------------------------------------------------------

-- For authenticate.sql, check_session.sql and end_token.sql, find_users.sql, find_invitation.sql.
CREATE INDEX api_keys_by_token_hash ON access.api_keys (token_hash);
CREATE INDEX sessions_by_token_hash ON access.sessions (token_hash);
CREATE INDEX users_by_email ON access.users (email);
CREATE INDEX users_by_invitation ON access.users (invitation_hash) WHERE invitation_hash IS NOT NULL;

-- A user's sessions: list_sessions.sql, end_session.sql, end_sessions.sql, and the foreign key.
CREATE INDEX sessions_by_user ON access.sessions (organization_id, user_id);

-- What is old, for the statements clean_*.sql.
CREATE INDEX quota_by_period ON access.quota (period);
CREATE INDEX usage_by_minute ON access.usage (minute); -- also list_busiest.sql
CREATE INDEX usage_quarters_by_minute ON access.usage_quarters (minute);
CREATE INDEX sessions_by_use ON access.sessions (last_seen_at);
CREATE INDEX sign_in_networks_by_age ON access.sign_in_networks (signed_in_at);
CREATE INDEX attempts_by_minute ON access.attempts (minute);

-- The changes of a cell, in order, without walking those of a cell that takes none: find_outbox_cell.sql,
-- claim_outbox.sql.
CREATE INDEX outbox_by_cell ON access.outbox (cell, organization_id, id);

-- The age of the oldest change that waits, and those that are set aside: read_outbox.sql.
CREATE INDEX outbox_by_age ON access.outbox (created_at) WHERE refusal IS NULL;
CREATE INDEX outbox_set_aside ON access.outbox (organization_id, id) WHERE refusal IS NOT NULL;

-- -- views and functions ---------------------------------------------------------------------------------------------

-- A move as operators see it.
CREATE FUNCTION access.shown(m access.moves) RETURNS json
LANGUAGE sql STABLE
RETURN CASE WHEN m.organization_id IS NOT NULL THEN
         json_build_object('organization', m.organization_id, 'from', m.from_cell, 'to', m.to_cell, 'step', m.step,
                           'started_at', floor(extract(epoch FROM m.started_at))::bigint)
       END;

-- Usage by the minute (1) or the quarter (15). Simple enough to be planned as a part of the statement that calls it.
CREATE FUNCTION access.usage_by(span integer) RETURNS SETOF access.usage
LANGUAGE sql STABLE AS $$
    SELECT * FROM access.usage WHERE span = 1
    UNION ALL
    SELECT * FROM access.usage_quarters WHERE span = 15
$$;

-- Waits for the transaction that has the lock.
CREATE FUNCTION access.lock_usage() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE access.usage_turn IN EXCLUSIVE MODE;
END
$$;

-- The only place that knows how long a session lasts: 12 hours without use, 7 days in all.
CREATE FUNCTION access.session_ends_at(created_at timestamptz, last_seen_at timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT least(created_at + interval '168 hours', last_seen_at + interval '12 hours')
$$;

-- An organization that has an owner keeps one. Statements that may remove the last one lock the organization first and
-- refuse with a message; this is for the case that one does not.
CREATE FUNCTION access.keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.role = 'owner' AND NEW.password_hash IS NOT NULL THEN
        RETURN NULL;
    END IF;
    PERFORM FROM access.organizations
    WHERE organization_id = OLD.organization_id
    FOR NO KEY UPDATE;
    -- A statement of its own: it sees what was committed while the lock was waited for.
    IF NOT EXISTS (SELECT FROM access.users
                   WHERE organization_id = OLD.organization_id
                     AND role = 'owner' AND password_hash IS NOT NULL) THEN
        RAISE EXCEPTION 'an organization keeps an owner'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'organization_keeps_an_owner';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_an_owner AFTER DELETE OR UPDATE OF role, password_hash ON access.users
  FOR EACH ROW WHEN (OLD.role = 'owner' AND OLD.password_hash IS NOT NULL)
  EXECUTE FUNCTION access.keep_an_owner();

-- -- grants ----------------------------------------------------------------------------------------------------------

-- The service may change the columns that can change, and delete only what ends.
GRANT USAGE ON SCHEMA access TO conv_access;
GRANT SELECT, INSERT, UPDATE (plan, rate_limit, require_https, ip_allowlist_enabled, ip_allowlist, cell)
  ON access.organizations TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (step) ON access.moves TO conv_access;
GRANT SELECT, INSERT, UPDATE (expires_at, revoked_at, last_used_at, replaced_at, lifetime)
  ON access.api_keys TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (used, granted) ON access.quota TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (allowed, denied, rejected, error, limited, latency)
  ON access.usage, access.usage_quarters TO conv_access;
GRANT UPDATE ON access.usage_turn TO conv_access;
REVOKE ALL ON FUNCTION access.lock_usage() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.lock_usage() TO conv_access;
GRANT SELECT, DELETE, UPDATE (due_at, refusal, cell),
      INSERT (organization_id, id, who, user_id, change, target, detail, address, cell)
  ON access.outbox TO conv_access;
GRANT SELECT, INSERT, DELETE,
      UPDATE (role, password_hash, invitation_hash, invitation_expires_at, last_seen_at, invited_by, invited_from)
  ON access.users TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (last_seen_at) ON access.sessions TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (signed_in_at) ON access.sign_in_networks TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (attempts) ON access.attempts TO conv_access;
