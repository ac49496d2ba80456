-- Counts a wrong attempt; all transactions update the counters in the same order.
-- $1 SHA-256 of each counter's subject, in hex, $2 minute
INSERT INTO access.attempts AS a (counted, minute, attempts)
SELECT decode(given.hex, 'hex'), $2::bigint, 1
FROM unnest($1::text[]) AS given (hex)
ORDER BY given.hex
ON CONFLICT (counted, minute) DO UPDATE SET attempts = a.attempts + 1
