-- Merges custom attributes into a conversation; a null removes its key. The one row that comes back
-- shows the conversation if it was changed; else how many keys it would have, NULL when it is not
-- to be had: then the first column says whether it is there and another transaction is changing it, so that
-- this is to be run again.
--
--   1 organization  2 id  3 JSON object with custom_attributes  4 most keys
--
-- The lock comes first, so the row that is merged and checked is the row that is changed.
-- columns: is_locked n_keys conversation.*
WITH held AS MATERIALIZED (
  SELECT id, jsonb_strip_nulls(custom_attributes || ($3::jsonb -> 'custom_attributes')) AS merged
    FROM conversation.conversations
   WHERE organization_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
     FOR NO KEY UPDATE SKIP LOCKED
), checked AS MATERIALIZED (
  SELECT id, merged, (SELECT count(*) FROM jsonb_object_keys(merged)) AS n_keys
    FROM held
), changed AS (
  UPDATE conversation.conversations
     SET custom_attributes = (SELECT merged FROM checked),
         updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
   WHERE organization_id = $1 AND id = (SELECT id FROM checked WHERE n_keys <= $4::int)
  RETURNING id, external_id, contact_id, created_at, updated_at, last_message_at, channel, status,
            custom_attributes, message_count
)
SELECT checked.id IS NULL AND EXISTS (
         SELECT FROM conversation.conversations
          WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL) AS is_locked,
       checked.n_keys,
       v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint AS created_at,
       floor(date_part('epoch', v.updated_at))::bigint AS updated_at,
       floor(date_part('epoch', v.last_message_at))::bigint AS last_message_at,
       v.channel, v.status, v.custom_attributes, v.message_count,
       k.id AS contact_id, k.external_id AS contact_external_id, k.name AS contact_name,
       k.email AS contact_email, k.phone AS contact_phone
  FROM (SELECT) AS always
  LEFT JOIN checked ON true
  LEFT JOIN changed v ON true
  LEFT JOIN conversation.contacts k
    ON k.organization_id = $1 AND k.id = (SELECT contact_id FROM changed) AND k.erased_at IS NULL
