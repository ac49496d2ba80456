-- $1 organization, $2 user, $3 session -> verdict, JSON; organization where there was a session
WITH ended AS (
    DELETE FROM access.sessions
    WHERE organization_id = $1::uuid AND user_id = $2::uuid AND session_id = $3::uuid
    RETURNING organization_id
)
SELECT 'ok', json_build_object('ended', count(*)), min(organization_id::text) FROM ended
