-- Appends a message to a conversation. Returns one row with the conversation. If that is NULL,
-- is_locked tells whether the conversation exists but another transaction is changing it: run this
-- again.
--
--   1 organization  2 id of the conversation  3 id of the message  4 body
-- columns: is_locked conversation.*
WITH held AS MATERIALIZED (
  SELECT id
    FROM conversation.conversations
   WHERE organization_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
     AND (SELECT cell.admit(ARRAY[$1]) FROM cell.moves LIMIT 1) IS NOT FALSE
     FOR NO KEY UPDATE SKIP LOCKED
), changed AS (
  UPDATE conversation.conversations
     SET message_count = message_count + 1,
         last_message_at = greatest(clock_timestamp(), last_message_at),
         updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
   WHERE organization_id = $1 AND id = (SELECT id FROM held)
  RETURNING id, external_id, contact_id, created_at, updated_at, last_message_at, channel, status,
            custom_attributes, message_count
), appended AS (
  INSERT INTO conversation.messages (organization_id, conversation_id, id, body, created_at)
  SELECT $1, id, $3::uuid, $4::text, last_message_at
    FROM changed
)
SELECT v.id IS NULL AND EXISTS (
         SELECT FROM conversation.conversations
          WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL) AS is_locked,
       v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint AS created_at,
       floor(date_part('epoch', v.updated_at))::bigint AS updated_at,
       floor(date_part('epoch', v.last_message_at))::bigint AS last_message_at,
       v.channel, v.status, v.custom_attributes, v.message_count,
       k.id AS contact_id, k.external_id AS contact_external_id, k.name AS contact_name,
       k.email AS contact_email, k.phone AS contact_phone
  FROM (SELECT) AS always
  LEFT JOIN changed v ON true
  LEFT JOIN conversation.contacts k
    ON k.organization_id = $1 AND k.id = (SELECT contact_id FROM changed) AND k.erased_at IS NULL
