-- Deletes old usage, a step at a time. The rows deleted from `usage` tell whether more are left:
-- there are fewer quarters than minutes.
-- $1 the oldest minute to keep, $2 older ones are deleted already: an old snapshot keeps them
-- $3 rows at most
WITH quarters AS (
    DELETE FROM access.usage_quarters
    WHERE ctid = ANY (ARRAY(SELECT ctid FROM access.usage_quarters
                            WHERE minute < $1::bigint AND minute >= $2::bigint
                            ORDER BY minute LIMIT $3::bigint))
)
DELETE FROM access.usage
WHERE ctid = ANY (ARRAY(SELECT ctid FROM access.usage
                        WHERE minute < $1::bigint AND minute >= $2::bigint
                        ORDER BY minute LIMIT $3::bigint))
