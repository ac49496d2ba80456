-- When a user was last there, also after the session has ended.
ALTER TABLE access.users ADD COLUMN last_seen_at timestamptz;

GRANT UPDATE (last_seen_at) ON access.users TO conv_access;
