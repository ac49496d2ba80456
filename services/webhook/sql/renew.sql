-- Renews the claims of deliveries still under way or waiting for attempts before them.
-- $1 fences, $2 milliseconds
UPDATE webhook.queue
   SET lease_until = clock_timestamp() + $2::integer * interval '1 millisecond'
 WHERE fence = ANY ($1::bigint[])
