-- Conversations with their contacts: one row for each requested id, in their order; all NULL if it
-- is absent or deleted.
--
-- Arrays with one element for each:
--   1 organization  2 id
--
-- OFFSET 0 keeps the lookups apart: as plain joins, they may be planned by organization alone.
-- columns: conversation.*
SELECT v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint AS created_at,
       floor(date_part('epoch', v.updated_at))::bigint AS updated_at,
       floor(date_part('epoch', v.last_message_at))::bigint AS last_message_at,
       v.channel, v.status, v.custom_attributes, v.message_count,
       k.id AS contact_id, k.external_id AS contact_external_id, k.name AS contact_name,
       k.email AS contact_email, k.phone AS contact_phone
  FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS asked (organization_id, id, n)
  LEFT JOIN LATERAL (
    SELECT *
      FROM conversation.conversations
     WHERE organization_id = asked.organization_id AND id = asked.id AND deleted_at IS NULL
    OFFSET 0) AS v ON true
  LEFT JOIN LATERAL (
    SELECT id, external_id, name, email, phone
      FROM conversation.contacts
     WHERE organization_id = asked.organization_id AND id = v.contact_id AND erased_at IS NULL
    OFFSET 0) AS k ON true
 ORDER BY n
