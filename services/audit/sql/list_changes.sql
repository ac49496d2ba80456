-- One page of the log of changes, newest first.
--   $1 organization   $2 the page begins after this id; NULL = the first page   $3 rows at most
--   $4 change, or the part of its name before the dot   $5 who   (NULL = any)
--   $6 changes to look at, at most
-- As in list_entries.sql, the last change that is looked at is returned even if it does not match.
-- columns: id created_at who user_id change target detail address is_match is_limit looked_at
SELECT id, floor(extract(epoch FROM created_at))::bigint AS created_at, who, user_id, change, target,
       detail, address, is_match, is_limit, place AS looked_at
  FROM (SELECT near.*,
               ($4::text IS NULL OR change = $4::text OR starts_with(change, $4::text || '.'))
               AND ($5::text IS NULL OR who = lower($5::text)) AS is_match,
               place = $6::bigint AS is_limit
          FROM (SELECT made.*, row_number() OVER () AS place, lead(false, 1, true) OVER () AS is_last
                  FROM (SELECT id, created_at, who, user_id, change, target, detail, address
                          FROM audit.changes
                         WHERE organization_id = $1::uuid
                           AND id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
                         ORDER BY id DESC
                         LIMIT $6::bigint) AS made) AS near) AS page
 WHERE is_match OR is_last
 LIMIT $3::bigint
