-- One conversation with its contact; no row when it is absent or deleted.
--
--   1 organization  2 id
--
-- OFFSET 0 keeps the look-up of the contact apart: joined, it may be planned by organization alone.
SELECT v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint,
       floor(date_part('epoch', v.updated_at))::bigint,
       floor(date_part('epoch', v.last_message_at))::bigint,
       v.channel, v.status, v.custom_attributes, v.message_count,
       k.id, k.external_id, k.name, k.email, k.phone
  FROM conversation.conversations v
  LEFT JOIN LATERAL (
    SELECT id, external_id, name, email, phone
      FROM conversation.contacts
     WHERE organization_id = $1 AND id = v.contact_id AND erased_at IS NULL
    OFFSET 0) AS k ON true
 WHERE v.organization_id = $1::uuid AND v.id = $2::uuid AND v.deleted_at IS NULL
