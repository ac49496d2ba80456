-- Ends all of a user's sessions, or all but one.
-- $1 organization, $2 user, $3 hash in hex of the token of the one that stays, or null
-- -> result (ok, same), JSON
-- columns: operator.*
WITH ended AS (
    DELETE FROM access.sessions
    WHERE organization_id = $1::uuid AND user_id = $2::uuid
      AND token_hash IS DISTINCT FROM decode($3, 'hex')
    RETURNING session_id
)
SELECT CASE WHEN count(*) > 0 THEN 'ok' ELSE 'same' END AS result,
       json_build_object('ended', count(*)) AS reply
FROM ended
