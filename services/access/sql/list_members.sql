-- The first thousand. Invited are those who have not chosen a password yet.
-- $1 organization -> verdict, JSON; no row: no such organization
SELECT 'ok', json_build_object('members', coalesce(
    (SELECT json_agg(member)
     FROM (
         SELECT user_id AS id, email, role,
                floor(extract(epoch FROM created_at))::bigint AS created_at,
                floor(extract(epoch FROM last_seen_at))::bigint AS last_seen_at,
                password_hash IS NULL AS invited
         FROM access.users
         WHERE organization_id = $1::uuid
         ORDER BY users.created_at, user_id
         LIMIT 1000
     ) member), '[]'::json))
FROM access.organizations
WHERE organization_id = $1::uuid
