-- $1 organization, $2 user, $3 invitation's hash in hex, $4 password's hash
-- -> a row, unless the invitation has been used, or has expired, meanwhile
-- columns: user_id
UPDATE access.users
SET password_hash = $4, invitation_hash = NULL, invitation_expires_at = NULL
WHERE organization_id = $1::uuid AND user_id = $2::uuid
  AND invitation_hash = decode($3, 'hex') AND invitation_expires_at > now()
RETURNING user_id
