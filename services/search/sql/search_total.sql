-- The contacts whose conversations are searched, and how many there are in all without filters. For each search that
-- is asked for one row comes back, in their order; all of it is NULL for a contact that is unknown or erased,
-- but for the total.
--
-- Arrays with one element for each search:
--   1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--   4 created at this second or later  5 and before this one
--   6 how many there are in all, where that need not be counted here (NULL: count)
--
-- One statement for all searches of a batch, since to set its plan up costs as much as to count. OFFSET 0 keeps
-- look-ups apart, and the counted rows are put in order: that leaves the planner one index to take (the role may
-- not sort).
-- columns: contact_id contact_external_id contact_name contact_email contact_phone total
SELECT k.id AS contact_id, k.external_id AS contact_external_id, k.name AS contact_name,
       k.email AS contact_email, k.phone AS contact_phone,
       coalesce(asked.total,
         (SELECT count(*)
            FROM (SELECT FROM conversation.conversations
                   WHERE organization_id = asked.organization_id AND contact_id = k.id
                     AND deleted_at IS NULL
                     AND created_at >= to_timestamp(asked.created_min)
                     AND created_at < to_timestamp(asked.created_end)
                   ORDER BY created_at DESC, id DESC) AS in_order)) AS total
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
       WITH ORDINALITY
       AS asked (organization_id, contact_id, external_id, created_min, created_end, total, n)
  LEFT JOIN LATERAL (
    SELECT id, external_id, name, email, phone
      FROM conversation.contacts
     WHERE organization_id = asked.organization_id AND erased_at IS NULL
       AND id = coalesce(asked.contact_id,
                         (SELECT id FROM conversation.contacts
                           WHERE organization_id = asked.organization_id
                             AND external_id = asked.external_id))
    OFFSET 0) AS k ON true
 ORDER BY n
