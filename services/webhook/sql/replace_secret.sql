-- $1 organization, $2 endpoint, $3 encrypted as it was, $4 re-encrypted
UPDATE webhook.endpoints
   SET secret = decode($4, 'hex')
 WHERE organization_id = $1::uuid AND id = $2::uuid AND secret = decode($3, 'hex')
