-- The users with this email: several organizations may have a user with it, each with its own
-- password. At most five are tried, those first who have signed in from this network before, then
-- those seen last. Users beyond these must name their organization.
-- $1 email in lower case, $2 organization or null, $3 network
-- -> organization, its name, user, password's hash, whether the user has signed in from the network
-- columns: organization_id organization_name user_id password_hash is_known
SELECT u.organization_id, o.name AS organization_name, u.user_id, u.password_hash,
       n.network IS NOT NULL AS is_known
FROM access.users u
JOIN access.organizations o ON o.organization_id = u.organization_id
LEFT JOIN access.sign_in_networks n
       ON n.organization_id = u.organization_id AND n.user_id = u.user_id AND n.network = $3
WHERE u.email = $1
  AND u.password_hash IS NOT NULL
  AND ($2::uuid IS NULL OR u.organization_id = $2::uuid)
ORDER BY n.network IS NULL, u.last_seen_at DESC NULLS LAST, o.name, u.organization_id
LIMIT 5
