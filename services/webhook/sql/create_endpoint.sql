-- $1 organization, $2 endpoint, $3 URL, $4 events, $5 signing, $6 sealed secret in hex,
-- $7 how many endpoints an organization may have, $8 retry schedule
-- -> result (ok, too_many), JSON
-- columns: operator.*
WITH made AS (
  INSERT INTO webhook.endpoints (organization_id, id, url, events, signing, secret, retry_schedule)
  SELECT $1::uuid, $2::uuid, $3::text, $4::text[], $5::boolean, decode($6::text, 'hex'),
         $8::text
   WHERE (SELECT count(*) FROM webhook.endpoints WHERE organization_id = $1) < $7::integer
  RETURNING *
)
SELECT CASE WHEN made.id IS NULL THEN 'too_many' ELSE 'ok' END AS result,
       CASE WHEN made.id IS NOT NULL
            THEN webhook.shown(ROW(made.*)::webhook.endpoints, NULL) END AS reply
  FROM (SELECT) AS always LEFT JOIN made ON true
