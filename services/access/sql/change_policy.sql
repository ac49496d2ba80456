-- Refuses an enabled list that is empty, or that would lock out the editor.
-- $1 organization; what to change, or null: $2 HTTPS required, $3 list enabled, $4 list; $5 address
-- of an editor who has not agreed to be locked out, or null
-- -> result (ok, same, empty_allowlist, would_lock_out), JSON; no row: no such organization
-- columns: operator.*
WITH found AS (
    SELECT require_https, ip_allowlist_enabled, ip_allowlist
    FROM access.organizations
    WHERE organization_id = $1::uuid
    FOR NO KEY UPDATE
), wanted AS (
    SELECT coalesce($2::boolean, require_https) AS require_https,
           coalesce($3::boolean, ip_allowlist_enabled) AS ip_allowlist_enabled,
           coalesce($4::text[], ip_allowlist) AS ip_allowlist
    FROM found
), checked AS (
    SELECT CASE
               WHEN wanted.ip_allowlist_enabled AND cardinality(wanted.ip_allowlist) = 0
                   THEN 'empty_allowlist'
               WHEN wanted.ip_allowlist_enabled AND $5::text <> ALL (wanted.ip_allowlist)
                   THEN 'would_lock_out'
               WHEN wanted = found THEN 'same'
               ELSE 'ok'
           END AS result
    FROM found, wanted
), changed AS (
    UPDATE access.organizations o
    SET require_https = wanted.require_https,
        ip_allowlist_enabled = wanted.ip_allowlist_enabled,
        ip_allowlist = wanted.ip_allowlist
    FROM wanted, checked
    WHERE o.organization_id = $1::uuid AND checked.result = 'ok'
)
SELECT result,
       CASE WHEN result IN ('ok', 'same') THEN (SELECT row_to_json(wanted) FROM wanted) END AS reply
FROM checked
