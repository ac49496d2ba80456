-- A user's sessions, last used first; at most a hundred.
-- $1 organization, $2 user, $3 hash of the requesting session's token in hex -> result, JSON
-- columns: operator.*
SELECT 'ok' AS result, json_build_object('sessions', coalesce(json_agg(item), '[]'::json)) AS reply
FROM (
    SELECT session_id AS id,
           floor(extract(epoch FROM created_at))::bigint AS created_at,
           floor(extract(epoch FROM last_seen_at))::bigint AS last_seen_at,
           address, user_agent,
           token_hash = decode($3, 'hex') AS current
    FROM access.sessions
    WHERE organization_id = $1::uuid AND user_id = $2::uuid
      AND access.session_ends_at(created_at, last_seen_at) > now()
    ORDER BY sessions.last_seen_at DESC, session_id DESC
    LIMIT 100
) item
