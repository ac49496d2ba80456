-- Up to two hundred users, newest first, at most 450 KB: a batch of such lists is in memory at
-- once. `invited` means that the user has not chosen a password yet. Ids are ordered by time.
-- $1 organization, $2 only those before this user, or null -> result, JSON; no row: no such
-- organization
-- columns: operator.*
WITH members AS (
    SELECT user_id AS id, email, role,
           floor(extract(epoch FROM created_at))::bigint AS created_at,
           floor(extract(epoch FROM last_seen_at))::bigint AS last_seen_at,
           password_hash IS NULL AS invited,
           (SELECT i.email FROM access.users i
            WHERE i.organization_id = $1::uuid AND i.user_id = u.invited_by) AS invited_by
    FROM access.users u
    WHERE organization_id = $1::uuid
      AND user_id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    ORDER BY user_id DESC
    LIMIT 200
)
SELECT 'ok' AS result,
       (SELECT json_build_object('members',
                                 coalesce(json_agg(row_to_json(members) ORDER BY id DESC), '[]'))
        FROM members) AS reply
FROM access.organizations
WHERE organization_id = $1::uuid
