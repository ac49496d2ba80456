-- Deletes networks from which a user has not signed in for half a year. Locked rows are left for
-- the next time.
-- $1 rows at most
DELETE FROM access.sign_in_networks
WHERE ctid = ANY (ARRAY(
    SELECT ctid
    FROM access.sign_in_networks
    WHERE signed_in_at <= now() - interval '180 days'
    ORDER BY signed_in_at
    LIMIT $1::bigint
    FOR UPDATE SKIP LOCKED))
