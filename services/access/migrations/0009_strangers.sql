-- What keeps strangers from shutting a user out, and from being taken for one.

-- From where a user has signed in: who guesses at the user's password elsewhere does not stop it there.
CREATE TABLE access.sign_in_networks (
    organization_id uuid NOT NULL,
    user_id uuid NOT NULL,
    network text NOT NULL, -- 192.0.2.0/24, 2001:db8:1::/48
    signed_in_at timestamptz NOT NULL DEFAULT now(), -- the last time
    PRIMARY KEY (organization_id, user_id, network),
    FOREIGN KEY (organization_id, user_id) REFERENCES access.users ON DELETE CASCADE
) WITH (fillfactor = 80);

CREATE INDEX sign_in_networks_by_age ON access.sign_in_networks (signed_in_at);

-- Those of today need not wait to be known.
INSERT INTO access.sign_in_networks (organization_id, user_id, network)
SELECT DISTINCT organization_id, user_id,
       CASE family(address::inet)
           WHEN 4 THEN network(set_masklen(address::inet, 24))::text
           ELSE network(set_masklen(address::inet, 48))::text
       END
FROM access.sessions;

-- Whoever invites is shown beside who accepts; null: an operator, or it was before this.
ALTER TABLE access.users ADD COLUMN invited_by uuid, ADD COLUMN invited_from text;

-- Sessions that have ended are found by it.
CREATE INDEX sessions_by_use ON access.sessions (last_seen_at);

GRANT UPDATE (invited_by, invited_from) ON access.users TO conv_access;
GRANT SELECT, INSERT, DELETE, UPDATE (signed_in_at) ON access.sign_in_networks TO conv_access;
