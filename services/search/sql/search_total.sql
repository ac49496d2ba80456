-- The contacts whose conversations are searched, and the number of their conversations that were
-- created in the interval. Returns one row for each search, in their order; for a contact that is
-- unknown or erased, all columns but the total are NULL.
--
-- Arrays with one element for each search:
--   1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--   4 created at this second or later  5 and before this one
--   6 the total, if it need not be counted here (NULL: count)
--
-- One statement serves all searches of a batch, because setting up the plan takes as long as
-- counting. OFFSET 0 keeps the lookups apart. The counted rows are ordered: since the role may not
-- sort, that leaves the planner only one index.
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
