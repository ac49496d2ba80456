-- Takes the personal data off a contact and frees what it held. No row when there is no such
-- contact; erasing it again is no error and keeps the time of the first.
--
--   1 organization  2 id
UPDATE conversation.contacts
   SET external_id = NULL, name = NULL, email = NULL, phone = NULL,
       erased_at = coalesce(erased_at, clock_timestamp())
 WHERE organization_id = $1::uuid AND id = $2::uuid
RETURNING id
