-- $1 organization, $2 user, $3 the new password's hash, $4 the old one's
-- -> a row, unless the password has been changed meanwhile
-- columns: user_id
UPDATE access.users SET password_hash = $3
WHERE organization_id = $1::uuid AND user_id = $2::uuid AND password_hash = $4
RETURNING user_id
