-- $1 invitation's hash in hex -> organization, user, email, inviter (email, or the id of a removed
-- user; null: an operator) and the inviter's address; no row: the invitation is unknown or over
-- columns: organization_id user_id email invited_by invited_from
SELECT u.organization_id, u.user_id, u.email, coalesce(i.email, u.invited_by::text) AS invited_by,
       u.invited_from
FROM access.users u
LEFT JOIN access.users i ON i.organization_id = u.organization_id AND i.user_id = u.invited_by
WHERE u.invitation_hash = decode($1, 'hex') AND u.invitation_expires_at > now()
LIMIT 1
