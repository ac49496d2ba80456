-- $1 organization -> result, JSON
-- columns: operator.*
SELECT 'ok' AS result, row_to_json(policy) AS reply
FROM (
    SELECT require_https, ip_allowlist_enabled, ip_allowlist
    FROM access.organizations
    WHERE organization_id = $1::uuid
) policy
