-- $1 organization, $2 connection string of the other cell's database
-- columns: subscribed
SELECT cell.subscribe($1::uuid, $2::text) IS NOT NULL AS subscribed
 WHERE NOT EXISTS (SELECT FROM pg_subscription WHERE subname = cell.name_of($1::uuid))
