-- $1 organization, $2 user -> password's hash, email
-- columns: password_hash email
SELECT password_hash, email
FROM access.users
WHERE organization_id = $1::uuid AND user_id = $2::uuid AND password_hash IS NOT NULL
