-- Organizations with their plan, limits and policy; their API keys and users; the rate limits'
-- counters.
CREATE SCHEMA access;

CREATE TABLE access.organizations (
    organization_id uuid PRIMARY KEY,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    plan text NOT NULL CHECK (plan IN ('free', 'starter', 'growth', 'enterprise')),
    rate_limit integer CHECK (rate_limit >= 1), -- requests a window and key; null = the default
    require_https boolean NOT NULL DEFAULT false,
    ip_allowlist_enabled boolean NOT NULL DEFAULT false,
    ip_allowlist text[] NOT NULL DEFAULT '{}', -- canonical spelling, no address twice
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT ip_allowlist_is_not_empty_while_on
        CHECK (NOT ip_allowlist_enabled OR cardinality(ip_allowlist) > 0)
);

-- Of a token only its hash is kept, and as much of it as helps a person to tell keys apart.
CREATE TABLE access.api_keys (
    organization_id uuid NOT NULL REFERENCES access.organizations,
    api_key_id uuid NOT NULL,
    token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 255),
    scope text NOT NULL CHECK (scope IN ('read', 'full')),
    prefix text NOT NULL,
    last_four text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    PRIMARY KEY (organization_id, api_key_id)
) WITH (fillfactor = 80);

-- The one way in that has no organization yet. Not unique: unique keys lead with the organization,
-- and 32 random characters do not meet again.
CREATE INDEX api_keys_by_token_hash ON access.api_keys (token_hash);

CREATE TABLE access.users (
    organization_id uuid NOT NULL REFERENCES access.organizations,
    user_id uuid NOT NULL,
    email text NOT NULL CHECK (char_length(email) <= 255), -- in lower case
    role text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    password_hash text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (organization_id, user_id),
    UNIQUE (organization_id, email)
);

-- What has been granted of each window. Unlogged: a crash of the server forgets at most one window,
-- and granting costs no write-ahead log.
CREATE UNLOGGED TABLE access.quota (
    organization_id uuid NOT NULL,
    api_key_id uuid NOT NULL, -- the nil UUID counts for the whole organization
    period bigint NOT NULL,   -- Unix seconds / 10
    -- requests within the limits, or answers that refuse requests beyond them
    of_refusals boolean NOT NULL,
    used bigint NOT NULL,
    granted bigint NOT NULL, -- by the last statement that changed the row
    PRIMARY KEY (organization_id, api_key_id, period, of_refusals)
) WITH (fillfactor = 50);

CREATE INDEX quota_by_period ON access.quota (period);

GRANT USAGE ON SCHEMA access TO conv_access;
GRANT SELECT, INSERT, UPDATE (plan, rate_limit, require_https, ip_allowlist_enabled, ip_allowlist)
    ON access.organizations TO conv_access;
GRANT SELECT, INSERT, UPDATE (revoked_at, last_used_at) ON access.api_keys TO conv_access;
GRANT SELECT, INSERT ON access.users TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (used, granted) ON access.quota TO conv_access;
