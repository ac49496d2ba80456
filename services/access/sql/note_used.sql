-- When keys were last used. A row that somebody else changes at this moment is left out: the next
-- minute tells again.
-- $1 organizations, $2 keys, $3 Unix seconds: arrays of one length
WITH used AS (
    SELECT k.organization_id, k.api_key_id, to_timestamp(u.at) AS at
    FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS u (organization_id, api_key_id, at)
    JOIN access.api_keys k USING (organization_id, api_key_id)
    WHERE k.last_used_at IS NULL OR k.last_used_at < to_timestamp(u.at)
    FOR NO KEY UPDATE OF k SKIP LOCKED
)
UPDATE access.api_keys k SET last_used_at = used.at
FROM used
WHERE k.organization_id = used.organization_id AND k.api_key_id = used.api_key_id
