-- $1 organization, $2 connection string of the other cell's database
-- columns: subscribed
SELECT audit.move_subscribe($1::uuid, $2::text) IS NOT NULL AS subscribed
 WHERE NOT EXISTS (SELECT FROM pg_subscription WHERE subname = audit.move_name($1::uuid))
