-- One page of the log of changes, newest first.
--   $1 organization   $2 the page is behind this id; NULL = it is the first   $3 rows at most
-- columns: id created_at who user_id change target detail address
SELECT id, floor(extract(epoch FROM created_at))::bigint AS created_at, who, user_id, change, target,
       detail, address
  FROM audit.changes
 WHERE organization_id = $1::uuid
   AND id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
 ORDER BY id DESC
 LIMIT $3::bigint
