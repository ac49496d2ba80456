-- $1 organization -> result, JSON
SELECT 'ok', row_to_json(policy)
FROM (
    SELECT require_https, ip_allowlist_enabled, ip_allowlist
    FROM access.organizations
    WHERE organization_id = $1::uuid
) policy
