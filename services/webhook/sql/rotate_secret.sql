-- Changes the secret of an endpoint in two steps: `begin` stores a next secret, replacing one that
-- is stored; `finish` makes it the secret that signs. `cancel` deletes the next secret.
-- $1 organization, $2 endpoint, $3 step, $4 the next secret, sealed, in hex, or null
-- -> result (ok, same: nothing to cancel, no_rotation: nothing to finish, unsigned: the endpoint
--    does not sign), JSON; no row: no such endpoint
-- columns: operator.*
WITH found AS MATERIALIZED (
  SELECT e AS endpoint,
         CASE WHEN NOT signing THEN 'unsigned'
              WHEN $3::text = 'begin' OR next_secret IS NOT NULL THEN 'ok'
              WHEN $3 = 'cancel' THEN 'same'
              ELSE 'no_rotation' END AS result
    FROM webhook.endpoints e
   WHERE organization_id = $1::uuid AND id = $2::uuid
     FOR NO KEY UPDATE
), changed AS (
  UPDATE webhook.endpoints e
     SET secret = CASE WHEN $3 = 'finish' THEN next_secret ELSE secret END,
         next_secret = CASE WHEN $3 = 'begin' THEN decode($4::text, 'hex') END,
         next_secret_at = CASE WHEN $3 = 'begin' THEN now() END, updated_at = now()
    FROM found
   WHERE organization_id = $1 AND id = $2 AND found.result = 'ok'
  RETURNING e AS endpoint
)
SELECT found.result,
       webhook.shown(coalesce(changed.endpoint, found.endpoint),
                     (SELECT p FROM webhook.progress p
                       WHERE organization_id = $1 AND id = $2
                       ORDER BY version DESC
                       LIMIT 1)) AS reply
  FROM found
  LEFT JOIN changed ON true
