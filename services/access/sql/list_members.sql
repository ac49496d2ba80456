-- The newest thousand, and no more of them than fit into one message. Invited are those who have not
-- chosen a password yet. Ids are in the order of time.
-- $1 organization, $2 those before this user or null -> verdict, JSON; no row: no such organization
WITH members AS (
    SELECT user_id AS id, email, role,
           floor(extract(epoch FROM created_at))::bigint AS created_at,
           floor(extract(epoch FROM last_seen_at))::bigint AS last_seen_at,
           password_hash IS NULL AS invited
    FROM access.users
    WHERE organization_id = $1::uuid
      AND user_id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
    ORDER BY user_id DESC
    LIMIT 1000
), items AS (
    SELECT id, row_to_json(members)::text AS item FROM members
), measured AS (
    SELECT id, item, sum(octet_length(item)) OVER (ORDER BY id DESC) AS bytes
    FROM items
)
SELECT 'ok',
       (SELECT '{"members":[' || coalesce(string_agg(item, ',' ORDER BY id DESC), '') || ']}'
        FROM measured
        WHERE bytes < 900000)
FROM access.organizations
WHERE organization_id = $1::uuid
