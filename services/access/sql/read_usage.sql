-- The use of all keys of an organization together, a row for each step with any use.
-- $1 organization, $2 first minute, $3 the minute after the last, $4 minutes in a step,
-- $5 minutes that a stored row covers: 1 or 15
-- -> first minute of the step, five outcomes, requests in each bucket
-- columns: at allowed denied rejected error limited latency_1 latency_2 latency_3 latency_4
-- columns: latency_5 latency_6 latency_7 latency_8 latency_9 latency_10 latency_11 latency_12
-- columns: latency_13
SELECT minute / $4::bigint * $4::bigint AS at,
       sum(allowed) AS allowed, sum(denied) AS denied, sum(rejected) AS rejected,
       sum(error) AS error, sum(limited) AS limited,
       sum(latency[1]) AS latency_1, sum(latency[2]) AS latency_2, sum(latency[3]) AS latency_3,
       sum(latency[4]) AS latency_4, sum(latency[5]) AS latency_5, sum(latency[6]) AS latency_6,
       sum(latency[7]) AS latency_7, sum(latency[8]) AS latency_8, sum(latency[9]) AS latency_9,
       sum(latency[10]) AS latency_10, sum(latency[11]) AS latency_11,
       sum(latency[12]) AS latency_12, sum(latency[13]) AS latency_13
FROM access.usage_by($5::integer)
WHERE organization_id = $1::uuid AND minute >= $2::bigint AND minute < $3::bigint
GROUP BY 1
ORDER BY 1
