-- Takes a share of a window's limits: first of the key's, then as much of the organization's. If
-- the organization has less left than the key was given, its window is used up, so it does not
-- matter that too much was taken from the key. The advisory lock makes grants of one organization
-- wait for each other before they touch a row. All batches take these locks in the same order, and
-- so cannot deadlock over the rows.
-- $1 lock, $2 organization, $3 key, $4 period, $5 wanted, $6 key's limit, $7 organization's limit,
-- $8 whether refusals are counted, which have rows of their own
-- -> result, JSON
-- columns: operator.*
WITH turn AS MATERIALIZED (
    SELECT pg_advisory_xact_lock($1::bigint)
), of_key AS (
    INSERT INTO access.quota AS q (organization_id, api_key_id, period, of_refusals, used, granted)
    SELECT $2::uuid, $3::uuid, $4::bigint, $8::boolean,
           least($5::bigint, $6::bigint), least($5::bigint, $6::bigint)
    FROM turn
    ON CONFLICT (organization_id, api_key_id, period, of_refusals) DO UPDATE
    SET granted = greatest(0, least(excluded.granted, $6::bigint - q.used)),
        used = q.used + greatest(0, least(excluded.granted, $6::bigint - q.used))
    RETURNING granted, used
), of_organization AS (
    INSERT INTO access.quota AS q (organization_id, api_key_id, period, of_refusals, used, granted)
    SELECT $2::uuid, '00000000-0000-0000-0000-000000000000', $4::bigint, $8::boolean,
           least(of_key.granted, $7::bigint), least(of_key.granted, $7::bigint)
    FROM of_key
    ON CONFLICT (organization_id, api_key_id, period, of_refusals) DO UPDATE
    SET granted = greatest(0, least(excluded.granted, $7::bigint - q.used)),
        used = q.used + greatest(0, least(excluded.granted, $7::bigint - q.used))
    RETURNING granted, used
)
SELECT 'ok' AS result, row_to_json(answer) AS reply
FROM (
    SELECT of_organization.granted,
           greatest(0, $6::bigint - of_key.used) AS key_left,
           greatest(0, $7::bigint - of_organization.used) AS organization_left
    FROM of_key, of_organization
) answer
