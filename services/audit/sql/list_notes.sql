-- The notes of what was dropped, latest first. Every month is kept for at least three months: an
-- unsigned note of a younger month is not ours (is_old is false).
--   $1 rows at most
-- columns: until_us since_us months dropped_us dropped_by key_id signature is_old
SELECT audit.us(until) AS until_us,
       audit.us(since) AS since_us,
       months,
       audit.us(dropped_at) AS dropped_us,
       left(dropped_by, 65) AS dropped_by,
       left(key_id, 65) AS key_id,
       encode(substr(signature, 1, 65), 'hex') AS signature,
       until > 'epoch'::timestamptz AND until < now()
       AND (until AT TIME ZONE 'UTC' + interval '3 months') AT TIME ZONE 'UTC' <= now() AS is_old
  FROM audit.dropped
 ORDER BY until DESC
 LIMIT $1::bigint
