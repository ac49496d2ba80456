-- Who may have this email: a person may be a user of several organizations, each with a password
-- of its own. Those of the first eight by name are tried; the others have to name theirs.
-- $1 email in lower case, $2 organization or null -> organization, its name, user, password's hash
SELECT u.organization_id, o.name, u.user_id, u.password_hash
FROM access.users u
JOIN access.organizations o ON o.organization_id = u.organization_id
WHERE u.email = $1
  AND u.password_hash IS NOT NULL
  AND ($2::uuid IS NULL OR u.organization_id = $2::uuid)
ORDER BY o.name, u.organization_id
LIMIT 8
