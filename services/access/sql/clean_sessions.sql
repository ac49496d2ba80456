-- Deletes sessions that were not used for 12 hours. This includes those that ended after seven
-- days, since they are not used from then on. Locked rows are left for the next time: another
-- replica, or the removal of a user, may be deleting the same rows in another order.
-- $1 rows at most
DELETE FROM access.sessions
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM access.sessions
    WHERE last_seen_at <= now() - interval '12 hours'
    ORDER BY last_seen_at
    LIMIT $1::bigint
    FOR UPDATE SKIP LOCKED))
