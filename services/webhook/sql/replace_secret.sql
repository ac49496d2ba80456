-- Replaces a sealed secret, in whichever column it is now.
-- $1 organization, $2 endpoint, $3 the sealed secret as it was read, $4 re-encrypted
UPDATE webhook.endpoints
   SET secret = CASE WHEN secret = decode($3, 'hex') THEN decode($4, 'hex') ELSE secret END,
       next_secret = CASE WHEN next_secret = decode($3, 'hex') THEN decode($4, 'hex') ELSE next_secret END
 WHERE organization_id = $1::uuid AND id = $2::uuid
   AND (secret = decode($3, 'hex') OR next_secret = decode($3, 'hex'))
