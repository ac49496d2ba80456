-- Whether there is an entry without an id at this time. Only the owner of the database can have
-- inserted one, and it has no place in the order that steps follow.
--   $1 organization   $2 the time
-- columns: is_there
SELECT EXISTS (SELECT FROM audit.entries
                WHERE organization_id = $1::uuid AND created_at = $2::timestamptz
                  AND request_id IS NULL) AS is_there
