-- $1 organization, $2 user, $3 session -> result (ok, same), JSON
-- columns: operator.*
WITH ended AS (
    DELETE FROM access.sessions
    WHERE organization_id = $1::uuid AND user_id = $2::uuid AND session_id = $3::uuid
    RETURNING session_id
)
SELECT CASE WHEN count(*) > 0 THEN 'ok' ELSE 'same' END AS result,
       json_build_object('ended', count(*)) AS reply
FROM ended
