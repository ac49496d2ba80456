-- Merges custom attributes into a conversation; a null removes its key. The one row that comes back
-- shows the conversation if it was changed; else how many keys it would have, NULL when it is not
-- there.
--
--   1 organization  2 id  3 JSON object with custom_attributes  4 most keys
--
-- A neighbour's change of the same row is waited for; the merge is then made and judged anew on what
-- the neighbour left. Where nothing was changed, the snapshot says why; where it cannot, a neighbour
-- came in between and the statement is to be run again.
WITH changed AS (
  UPDATE conversation.conversations
     SET custom_attributes =
           jsonb_strip_nulls(custom_attributes || ($3::jsonb -> 'custom_attributes')),
         updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
   WHERE organization_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
     AND (SELECT count(*) FROM jsonb_object_keys(
           jsonb_strip_nulls(custom_attributes || ($3::jsonb -> 'custom_attributes')))) <= $4::int
  RETURNING id, external_id, contact_id, created_at, updated_at, last_message_at, channel, status,
            custom_attributes, message_count
)
SELECT CASE WHEN v.id IS NULL THEN (
         SELECT (SELECT count(*) FROM jsonb_object_keys(
                   jsonb_strip_nulls(custom_attributes || ($3::jsonb -> 'custom_attributes'))))
           FROM conversation.conversations
          WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL) END,
       v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint,
       floor(date_part('epoch', v.updated_at))::bigint,
       floor(date_part('epoch', v.last_message_at))::bigint,
       v.channel, v.status, v.custom_attributes, v.message_count,
       k.id, k.external_id, k.name, k.email, k.phone
  FROM (SELECT) AS always
  LEFT JOIN changed v ON true
  LEFT JOIN conversation.contacts k
    ON k.organization_id = $1 AND k.id = (SELECT contact_id FROM changed) AND k.erased_at IS NULL
