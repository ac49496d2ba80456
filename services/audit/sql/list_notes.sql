-- The notes of what was dropped, latest first.
--   $1 rows at most
-- columns: until_us since_us months dropped_us dropped_by key_id signature
SELECT audit.us(until) AS until_us,
       audit.us(since) AS since_us,
       months,
       audit.us(dropped_at) AS dropped_us,
       left(dropped_by, 65) AS dropped_by,
       left(key_id, 65) AS key_id,
       encode(substr(signature, 1, 65), 'hex') AS signature
  FROM audit.dropped
 ORDER BY until DESC
 LIMIT $1::bigint
