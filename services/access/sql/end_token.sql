-- $1 token's hash in hex
-- -> result (ok, same), JSON; organization, user and email if there was a session
-- columns: operator.* organization_id user_id email
WITH ended AS (
    DELETE FROM access.sessions WHERE token_hash = decode($1, 'hex')
    RETURNING organization_id, user_id
)
SELECT CASE WHEN count(*) > 0 THEN 'ok' ELSE 'same' END AS result,
       json_build_object('ended', count(*)) AS reply, min(u.organization_id::text) AS organization_id,
       min(u.user_id::text) AS user_id, min(u.email) AS email
FROM ended
JOIN access.users u USING (organization_id, user_id)
