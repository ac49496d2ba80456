-- Erases a contact's personal data and frees its unique values. Returns one row: whether the
-- contact had been erased before. If that is NULL, is_locked tells whether the contact exists but
-- another transaction is changing it: run this again. Erasing it again is no error and keeps the
-- first time.
--
--   1 organization  2 id
-- columns: is_locked was_erased
WITH found AS MATERIALIZED (
  SELECT id, erased_at FROM conversation.contacts
   WHERE organization_id = $1::uuid AND id = $2::uuid
     FOR NO KEY UPDATE SKIP LOCKED
), erased AS (
  UPDATE conversation.contacts
     SET external_id = NULL, name = NULL, email = NULL, phone = NULL,
         erased_at = coalesce(erased_at, clock_timestamp())
   WHERE organization_id = $1 AND id = (SELECT id FROM found)
)
SELECT found.id IS NULL AND EXISTS (
         SELECT FROM conversation.contacts WHERE organization_id = $1 AND id = $2) AS is_locked,
       CASE WHEN found.id IS NOT NULL THEN found.erased_at IS NOT NULL END AS was_erased
  FROM (SELECT) AS always
  LEFT JOIN found ON true
