-- Runs behind lock_organization.
-- $1 organization, $2 user, $3 role, $4 role of who changes it, or null: an operator
-- -> verdict (ok, insufficient_role, last_owner), JSON; no row: no such user
WITH member AS (
    SELECT CASE
               WHEN (u.role = 'owner' OR $3 = 'owner') AND $4 <> 'owner' THEN 'insufficient_role'
               WHEN u.role = 'owner' AND $3 <> 'owner' AND u.password_hash IS NOT NULL
                    AND NOT EXISTS (SELECT FROM access.users other
                                    WHERE other.organization_id = u.organization_id
                                      AND other.user_id <> u.user_id
                                      AND other.role = 'owner'
                                      AND other.password_hash IS NOT NULL) THEN 'last_owner'
               ELSE 'ok'
           END AS verdict
    FROM access.users u
    WHERE u.organization_id = $1::uuid AND u.user_id = $2::uuid
), changed AS (
    UPDATE access.users SET role = $3
    WHERE organization_id = $1::uuid AND user_id = $2::uuid
      AND (SELECT verdict FROM member) = 'ok'
    RETURNING user_id AS id, email, role
)
SELECT verdict, (SELECT row_to_json(changed) FROM changed) FROM member
