-- Those that were not used for 12 hours. One that ends after seven days is not used from then on. Rows
-- that are locked are left to the next time: another replica deletes the same, and so
-- does the removal of a user, in another order.
-- $1 rows at most
DELETE FROM access.sessions
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM access.sessions
    WHERE last_seen_at <= now() - interval '12 hours'
    ORDER BY last_seen_at
    LIMIT $1::bigint
    FOR UPDATE SKIP LOCKED))
