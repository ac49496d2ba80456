-- $1 invitation's hash in hex -> organization, user, email; no row: there is none, or it is over
SELECT organization_id, user_id, email
FROM access.users
WHERE invitation_hash = decode($1, 'hex') AND invitation_expires_at > now()
LIMIT 1
