-- The user of a session, with the current role. Records the session's use at most once a minute,
-- and not while another transaction does.
-- $1 token's hash in hex -> result, JSON; no row: there is no such session, or it has ended
-- columns: operator.*
WITH found AS (
    SELECT organization_id, session_id, user_id, created_at, last_seen_at
    FROM access.sessions
    WHERE token_hash = decode($1, 'hex')
      AND access.session_ends_at(created_at, last_seen_at) > now()
    LIMIT 1
), due AS (
    SELECT s.organization_id, s.session_id, u.user_id
    FROM access.sessions s
    JOIN found USING (organization_id, session_id)
    JOIN access.users u ON u.organization_id = s.organization_id AND u.user_id = s.user_id
    WHERE s.last_seen_at < now() - interval '1 minute'
    FOR NO KEY UPDATE OF s, u SKIP LOCKED
), noted AS (
    UPDATE access.sessions s SET last_seen_at = now()
    FROM due
    WHERE s.organization_id = due.organization_id AND s.session_id = due.session_id
), noted_user AS (
    UPDATE access.users u SET last_seen_at = now()
    FROM due
    WHERE u.organization_id = due.organization_id AND u.user_id = due.user_id
)
SELECT 'ok' AS result, row_to_json(answer) AS reply
FROM (
    SELECT found.session_id AS id,
           floor(extract(epoch FROM found.created_at))::bigint AS created_at,
           floor(extract(epoch FROM access.session_ends_at(
               found.created_at,
               CASE WHEN found.last_seen_at < now() - interval '1 minute' THEN now()
                    ELSE found.last_seen_at END)))::bigint AS expires_at,
           json_build_object('id', u.user_id, 'email', u.email, 'role', u.role) AS "user",
           json_build_object('id', o.organization_id, 'name', o.name, 'plan', o.plan)
               AS organization,
           o.cell
    FROM found
    JOIN access.users u USING (organization_id, user_id)
    JOIN access.organizations o USING (organization_id)
) answer
