-- $1 token's hash in hex
-- -> result (ok, same), JSON; organization, user and email where there was a session
WITH ended AS (
    DELETE FROM access.sessions WHERE token_hash = decode($1, 'hex')
    RETURNING organization_id, user_id
)
SELECT CASE WHEN count(*) > 0 THEN 'ok' ELSE 'same' END,
       json_build_object('ended', count(*)), min(u.organization_id::text), min(u.user_id::text),
       min(u.email)
FROM ended
JOIN access.users u USING (organization_id, user_id)
