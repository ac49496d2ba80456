-- Who signs in to the dashboard: users that are invited first, their sessions, and what limits
-- guessing.

-- Somebody invited has no password yet, and a link that is good until some time.
ALTER TABLE access.users
    ALTER COLUMN password_hash DROP NOT NULL,
    ADD COLUMN invitation_hash bytea CHECK (octet_length(invitation_hash) = 32),
    ADD COLUMN invitation_expires_at timestamptz,
    ADD CONSTRAINT user_has_a_password_or_an_invitation
        CHECK ((password_hash IS NULL) = (invitation_hash IS NOT NULL)
               AND (invitation_hash IS NULL) = (invitation_expires_at IS NULL));

-- The ways in that have no organization yet. Not unique, as with API keys.
CREATE INDEX users_by_email ON access.users (email);
CREATE INDEX users_by_invitation ON access.users (invitation_hash)
    WHERE invitation_hash IS NOT NULL;

-- Ending a session deletes its row. Of its token only the hash is kept.
CREATE TABLE access.sessions (
    organization_id uuid NOT NULL,
    session_id uuid NOT NULL,
    user_id uuid NOT NULL,
    token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    address text NOT NULL,
    user_agent text NOT NULL CHECK (char_length(user_agent) <= 255),
    created_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now(), -- to the minute
    PRIMARY KEY (organization_id, session_id),
    FOREIGN KEY (organization_id, user_id) REFERENCES access.users ON DELETE CASCADE
) WITH (fillfactor = 80);

CREATE INDEX sessions_by_token_hash ON access.sessions (token_hash);
CREATE INDEX sessions_by_user ON access.sessions (organization_id, user_id);

-- The one place that knows how long a session lasts: 12 hours without use, 7 days in all.
CREATE FUNCTION access.session_ends_at(created_at timestamptz, last_seen_at timestamptz)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT least(created_at + interval '168 hours', last_seen_at + interval '12 hours')
$$;

-- Attempts at passwords, a minute each: of an email, of an address, of a user. What is counted
-- stands here as a hash, since people type passwords where emails belong. Unlogged: a crash of the
-- server forgives a minute.
CREATE UNLOGGED TABLE access.attempts (
    counted bytea NOT NULL,
    minute bigint NOT NULL, -- Unix seconds / 60
    attempts integer NOT NULL,
    PRIMARY KEY (counted, minute)
) WITH (fillfactor = 50);

CREATE INDEX attempts_by_minute ON access.attempts (minute);

-- Whoever takes the role owner from somebody leaves another owner behind. Statements that may take
-- it lock the organization first and refuse in so many words; this stands behind them.
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

GRANT DELETE, UPDATE (role, password_hash, invitation_hash, invitation_expires_at)
    ON access.users TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (last_seen_at) ON access.sessions TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (attempts) ON access.attempts TO conv_access;
