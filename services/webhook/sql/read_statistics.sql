-- For each step of an interval: how many attempts succeeded and failed, and how many deliveries
-- were skipped before they were queued. Steps begin at multiples of their length.
-- $1 organization, $2 since and $3 until (Unix seconds), $4 step in seconds -> result, JSON
-- columns: operator.*
WITH counted AS (
  SELECT date_part('epoch', minute)::bigint / $4::bigint * $4 AS at,
         sum(delivered) AS delivered, sum(failed) AS failed, sum(skipped) AS skipped
    FROM webhook.statistics
   WHERE organization_id = $1::uuid AND minute >= to_timestamp($2::bigint / $4 * $4)
     AND minute < to_timestamp($3::bigint)
   GROUP BY 1
)
SELECT 'ok' AS result,
       json_build_object('step', $4, 'points', json_agg(
         json_build_object('at', at, 'delivered', coalesce(delivered, 0),
                           'failed', coalesce(failed, 0), 'skipped', coalesce(skipped, 0)) ORDER BY at)) AS reply
  FROM generate_series($2 / $4 * $4, $3 - 1, $4) AS at
  LEFT JOIN counted USING (at)
