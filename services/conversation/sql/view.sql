-- One conversation with its contact and its newest messages, oldest first, no more than fit into
-- one message of the bus; no row if the conversation is absent or deleted.
--   1 organization  2 id  3 maximum number of messages
-- -> the columns of a conversation; whether its contact was erased; JSON array
-- columns: conversation.* is_erased messages
SELECT v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint AS created_at,
       floor(date_part('epoch', v.updated_at))::bigint AS updated_at,
       floor(date_part('epoch', v.last_message_at))::bigint AS last_message_at,
       v.channel, v.status, v.custom_attributes, v.message_count,
       CASE WHEN k.erased_at IS NULL THEN k.id END AS contact_id,
       k.external_id AS contact_external_id, k.name AS contact_name, k.email AS contact_email,
       k.phone AS contact_phone, k.erased_at IS NOT NULL AS is_erased, m.items AS messages
  FROM conversation.conversations v
  LEFT JOIN LATERAL (
    SELECT id, external_id, name, email, phone, erased_at
      FROM conversation.contacts
     WHERE organization_id = $1 AND id = v.contact_id
    OFFSET 0) AS k ON true
 CROSS JOIN LATERAL (
    SELECT '[' || coalesce(string_agg(item, ',' ORDER BY id), '') || ']' AS items
      FROM (SELECT id, item, sum(octet_length(item) + 1) OVER (ORDER BY id DESC) AS bytes
              FROM (SELECT id, json_build_object(
                                 'id', id, 'created_at',
                                 floor(date_part('epoch', created_at))::bigint,
                                 'body', body)::text AS item
                      FROM conversation.messages
                     WHERE organization_id = $1 AND conversation_id = v.id
                     ORDER BY id DESC
                     LIMIT $3::bigint) AS newest) AS measured
     WHERE bytes < 900000) AS m
 WHERE v.organization_id = $1::uuid AND v.id = $2::uuid AND v.deleted_at IS NULL
