-- The number of wrong attempts in a minute.
-- $1 SHA-256 of each counter's subject, in hex, $2 minute -> a number for each, in their order
-- columns: attempts
SELECT coalesce(a.attempts, 0) AS attempts
FROM unnest($1::text[]) WITH ORDINALITY AS given (hex, place)
LEFT JOIN access.attempts a ON a.counted = decode(given.hex, 'hex') AND a.minute = $2::bigint
ORDER BY given.place
