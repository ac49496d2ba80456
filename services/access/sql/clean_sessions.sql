-- Those that have ended by themselves.
DELETE FROM access.sessions WHERE access.session_ends_at(created_at, last_seen_at) <= now()
