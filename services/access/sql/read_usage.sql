-- What all keys of an organization were used for, a row for each step in which there was any use.
-- $1 organization, $2 first minute, $3 the minute behind the last, $4 minutes in a step,
-- $5 minutes in a row that is read: 1 or 15
-- -> first minute of the step, five outcomes, requests in each bucket
SELECT minute / $4::bigint * $4::bigint,
       sum(allowed), sum(denied), sum(rejected), sum(error), sum(limited),
       sum(latency[1]), sum(latency[2]), sum(latency[3]), sum(latency[4]), sum(latency[5]),
       sum(latency[6]), sum(latency[7]), sum(latency[8]), sum(latency[9]), sum(latency[10]),
       sum(latency[11]), sum(latency[12]), sum(latency[13])
FROM access.usage_by($5::integer)
WHERE organization_id = $1::uuid AND minute >= $2::bigint AND minute < $3::bigint
GROUP BY 1
ORDER BY 1
