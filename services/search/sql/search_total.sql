-- The contact whose conversations search_contact.sql gives, and how many there are in all; no row for one
-- that is unknown or erased.
--    1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--    4 created at this second or later  5 and before this one
--    6 how many there are in all, where that need not be counted (NULL: count)
-- The counted rows are put in order: that leaves the planner one index to take (the role may not sort).
-- columns: contact_id contact_external_id contact_name contact_email contact_phone total
SELECT id AS contact_id, external_id AS contact_external_id, name AS contact_name,
       email AS contact_email, phone AS contact_phone,
       coalesce($6::bigint,
         (SELECT count(*)
            FROM (SELECT FROM conversation.conversations
                   WHERE organization_id = $1 AND contact_id = contacts.id AND deleted_at IS NULL
                     AND created_at >= to_timestamp($4::bigint)
                     AND created_at < to_timestamp($5::bigint)
                   ORDER BY created_at DESC, id DESC) AS in_order)) AS total
  FROM conversation.contacts
 WHERE organization_id = $1::uuid AND erased_at IS NULL
   AND id = coalesce($2::uuid, (SELECT id FROM conversation.contacts
                                 WHERE organization_id = $1 AND external_id = $3::text))
