-- Takes the personal data off a contact and frees what it held. No row when there is no such
-- contact; erasing it again is no error and keeps the time of the first.
--
--   1 organization  2 id  -> whether it was erased already
WITH found AS (
  SELECT erased_at FROM conversation.contacts
   WHERE organization_id = $1::uuid AND id = $2::uuid
     FOR NO KEY UPDATE
)
UPDATE conversation.contacts c
   SET external_id = NULL, name = NULL, email = NULL, phone = NULL,
       erased_at = coalesce(found.erased_at, clock_timestamp())
  FROM found
 WHERE organization_id = $1 AND id = $2
RETURNING found.erased_at IS NOT NULL
