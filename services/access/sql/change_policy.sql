-- Refuses to leave the list empty while it is on, and to leave out the editor who would be shut out.
-- $1 organization; what to change, or null: $2 HTTPS required, $3 list is on, $4 list; $5 address of
-- an editor who has not agreed to be shut out, or null
-- -> verdict (ok, empty_allowlist, would_lock_out), JSON; no row: no such organization
WITH changed AS (
    UPDATE access.organizations
    SET require_https = coalesce($2::boolean, require_https),
        ip_allowlist_enabled = coalesce($3::boolean, ip_allowlist_enabled),
        ip_allowlist = coalesce($4::text[], ip_allowlist)
    WHERE organization_id = $1::uuid
      AND (NOT coalesce($3::boolean, ip_allowlist_enabled)
           OR (cardinality(coalesce($4::text[], ip_allowlist)) > 0
               AND ($5::text IS NULL OR $5 = ANY (coalesce($4::text[], ip_allowlist)))))
    RETURNING organization_id, require_https, ip_allowlist_enabled, ip_allowlist
)
SELECT CASE
           WHEN changed.organization_id IS NOT NULL THEN 'ok'
           WHEN $5::text IS NULL OR cardinality(coalesce($4::text[], o.ip_allowlist)) = 0
               THEN 'empty_allowlist'
           ELSE 'would_lock_out'
       END,
       (SELECT row_to_json(policy)
        FROM (SELECT changed.require_https, changed.ip_allowlist_enabled, changed.ip_allowlist)
             AS policy)
FROM access.organizations o
LEFT JOIN changed ON changed.organization_id = o.organization_id
WHERE o.organization_id = $1::uuid
