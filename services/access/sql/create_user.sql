-- $1 organization, $2 user, $3 email in lower case, $4 role, $5 password's hash
-- -> result (ok, email_taken), JSON; no row: no such organization
-- columns: operator.*
WITH created AS (
    INSERT INTO access.users (organization_id, user_id, email, role, password_hash)
    SELECT organization_id, $2::uuid, $3, $4, $5
    FROM access.organizations
    WHERE organization_id = $1::uuid
    ON CONFLICT (organization_id, email) DO NOTHING
    RETURNING organization_id, user_id, email, role
)
SELECT CASE WHEN created.user_id IS NULL THEN 'email_taken' ELSE 'ok' END AS result,
       (SELECT row_to_json(answer)
        FROM (SELECT created.user_id AS id, created.email, created.role) AS answer) AS reply
FROM access.organizations o
LEFT JOIN created ON created.organization_id = o.organization_id
WHERE o.organization_id = $1::uuid
