-- Records when keys were last used, to the minute, and counts their requests. The time is not
-- recorded for a key that another transaction is changing: the next minute's report does that.
-- Counts are added to those from other reports of the same minute. Reports wait for each other
-- before they touch a row, because a batch may have several of them, in the order of arrival.
-- $1 organizations, $2 keys, $3 Unix seconds, $4 minutes: arrays with one element for each key;
-- $5 five outcomes and $6 thirteen buckets for each key, one key after the other
WITH turn AS MATERIALIZED (
    SELECT access.lock_usage()
), told AS (
    SELECT k.organization_id, k.api_key_id, to_timestamp(u.at) AS at, u.minute,
           ($5::integer[])[5 * u.i - 4 : 5 * u.i] AS outcomes,
           ($6::integer[])[13 * u.i - 12 : 13 * u.i] AS latency
    FROM turn, unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[])
         WITH ORDINALITY AS u (organization_id, api_key_id, at, minute, i)
    JOIN access.api_keys k USING (organization_id, api_key_id)
), used AS (
    SELECT k.organization_id, k.api_key_id, told.at
    FROM told
    JOIN access.api_keys k USING (organization_id, api_key_id)
    WHERE k.last_used_at IS NULL OR k.last_used_at < date_trunc('minute', told.at)
    FOR NO KEY UPDATE OF k SKIP LOCKED
), noted AS (
    UPDATE access.api_keys k SET last_used_at = used.at
    FROM used
    WHERE k.organization_id = used.organization_id AND k.api_key_id = used.api_key_id
), quarters AS (
    INSERT INTO access.usage_quarters AS u (organization_id, api_key_id, minute, allowed, denied,
                                            rejected, error, limited, latency)
    SELECT organization_id, api_key_id, minute / 15 * 15 AS minute, sum(outcomes[1]),
           sum(outcomes[2]), sum(outcomes[3]), sum(outcomes[4]), sum(outcomes[5]),
           ARRAY[sum(latency[1]), sum(latency[2]), sum(latency[3]), sum(latency[4]),
                 sum(latency[5]), sum(latency[6]), sum(latency[7]), sum(latency[8]),
                 sum(latency[9]), sum(latency[10]), sum(latency[11]), sum(latency[12]),
                 sum(latency[13])]
    FROM told
    GROUP BY 1, 2, 3
    ORDER BY 1, 3, 2
    ON CONFLICT (organization_id, minute, api_key_id) DO UPDATE
    SET allowed = u.allowed + excluded.allowed,
        denied = u.denied + excluded.denied,
        rejected = u.rejected + excluded.rejected,
        error = u.error + excluded.error,
        limited = u.limited + excluded.limited,
        latency = ARRAY(SELECT a + b
                        FROM unnest(u.latency, excluded.latency) WITH ORDINALITY AS t (a, b, i)
                        ORDER BY i)
)
INSERT INTO access.usage AS u (organization_id, api_key_id, minute, allowed, denied, rejected,
                               error, limited, latency)
SELECT organization_id, api_key_id, minute, outcomes[1], outcomes[2], outcomes[3], outcomes[4],
       outcomes[5], latency
FROM told
ORDER BY organization_id, minute, api_key_id
ON CONFLICT (organization_id, minute, api_key_id) DO UPDATE
SET allowed = u.allowed + excluded.allowed,
    denied = u.denied + excluded.denied,
    rejected = u.rejected + excluded.rejected,
    error = u.error + excluded.error,
    limited = u.limited + excluded.limited,
    latency = ARRAY(SELECT a + b
                    FROM unnest(u.latency, excluded.latency) WITH ORDINALITY AS t (a, b, i)
                    ORDER BY i)
