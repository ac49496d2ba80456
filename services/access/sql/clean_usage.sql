-- A step at a time.
-- $1 the oldest minute to keep, $2 rows at most
DELETE FROM access.usage
WHERE ctid = ANY (ARRAY(SELECT ctid FROM access.usage WHERE minute < $1::bigint
                        ORDER BY minute LIMIT $2::bigint))
