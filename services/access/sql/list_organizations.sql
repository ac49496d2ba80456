-- Up to two hundred organizations, newest first, at most 340 KB: a batch of such lists is in memory
-- at once. Ids are ordered by time.
-- $1 only those before this organization, or null -> result, JSON array
-- columns: operator.*
SELECT 'ok' AS result, coalesce(json_agg(row_to_json(o) ORDER BY id DESC), '[]') AS reply
FROM (
    SELECT organization_id AS id, name, plan, rate_limit, cell,
           floor(extract(epoch FROM created_at))::bigint AS created_at
    FROM access.organizations
    WHERE organization_id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    ORDER BY organization_id DESC
    LIMIT 200
) o
