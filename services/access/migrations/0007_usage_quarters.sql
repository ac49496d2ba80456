-- The same by the quarter of an hour, under its first minute: a week of many keys is to be read
-- without reading ten thousand minutes of each.
CREATE TABLE access.usage_quarters (LIKE access.usage INCLUDING ALL) WITH (fillfactor = 70);

INSERT INTO access.usage_quarters (organization_id, api_key_id, minute, allowed, denied, rejected,
                                   error, limited, latency)
SELECT organization_id, api_key_id, minute / 15 * 15, sum(allowed), sum(denied), sum(rejected),
       sum(error), sum(limited),
       ARRAY[sum(latency[1]), sum(latency[2]), sum(latency[3]), sum(latency[4]), sum(latency[5]),
             sum(latency[6]), sum(latency[7]), sum(latency[8]), sum(latency[9]), sum(latency[10]),
             sum(latency[11]), sum(latency[12]), sum(latency[13])]
FROM access.usage
GROUP BY organization_id, api_key_id, minute / 15;

-- By the minute (1) or the quarter (15). Plain enough to be planned as a part of what asks for it.
CREATE FUNCTION access.usage_by(span integer) RETURNS SETOF access.usage
LANGUAGE sql STABLE AS $$
    SELECT * FROM access.usage WHERE span = 1
    UNION ALL
    SELECT * FROM access.usage_quarters WHERE span = 15
$$;

GRANT SELECT, INSERT, DELETE, UPDATE (allowed, denied, rejected, error, limited, latency)
    ON access.usage_quarters TO conv_access;
