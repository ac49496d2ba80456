-- Changes a user's role; without a role, removes the user and all sessions. Runs after
-- lock_organization.sql.
-- $1 organization, $2 user, $3 role or null, $4 role of the requesting user, or null: an operator
-- -> result (ok, same, insufficient_role, last_owner), JSON; no row: no such user
-- columns: operator.*
WITH member AS (
    SELECT CASE
               WHEN (u.role = 'owner' OR $3 = 'owner') AND $4 <> 'owner' THEN 'insufficient_role'
               WHEN u.role = 'owner' AND $3 IS DISTINCT FROM 'owner' AND u.password_hash IS NOT NULL
                    AND NOT EXISTS (SELECT FROM access.users other
                                    WHERE other.organization_id = u.organization_id
                                      AND other.user_id <> u.user_id
                                      AND other.role = 'owner'
                                      AND other.password_hash IS NOT NULL) THEN 'last_owner'
               WHEN u.role = $3 THEN 'same'
               ELSE 'ok'
           END AS result
    FROM access.users u
    WHERE u.organization_id = $1::uuid AND u.user_id = $2::uuid
), changed AS (
    UPDATE access.users SET role = $3
    WHERE organization_id = $1::uuid AND user_id = $2::uuid AND $3 IS NOT NULL
      AND (SELECT result FROM member) IN ('ok', 'same')
    RETURNING user_id AS id, email, role
), removed AS (
    DELETE FROM access.users
    WHERE organization_id = $1::uuid AND user_id = $2::uuid AND $3 IS NULL
      AND (SELECT result FROM member) = 'ok'
    RETURNING user_id AS id, email, true AS deleted
)
SELECT result,
       coalesce((SELECT row_to_json(changed) FROM changed),
                (SELECT row_to_json(removed) FROM removed)) AS reply
FROM member
