-- The same as search_contact.sql, with filters that need the rows themselves. Beside its parameters:
--    9 updated at this second or later  10 and before this one
--   11 created at none of these seconds  12 updated at none of these
--   13 of these statuses
--   14 of these channels (NULL: any)  15 of none of these
--   16 of these external ids (NULL: any)  17 of none of these
--   18 with all of these attributes, each an object of one key  19 with none of these
-- Seconds are those that clients see, rounded down.
WITH contact AS MATERIALIZED (
  (SELECT id, external_id, name, email, phone
     FROM conversation.contacts
    WHERE organization_id = $1::uuid AND id = $2::uuid AND erased_at IS NULL
    UNION ALL
   SELECT id, external_id, name, email, phone
     FROM conversation.contacts
    WHERE organization_id = $1 AND external_id = $3::text)
  LIMIT 1
), matching AS NOT MATERIALIZED (
  SELECT *
    FROM conversation.conversations
   WHERE organization_id = $1 AND contact_id = (SELECT id FROM contact) AND deleted_at IS NULL
     AND created_at >= to_timestamp($4::bigint)
     AND updated_at >= to_timestamp($9::bigint) AND updated_at < to_timestamp($10::bigint)
     AND floor(date_part('epoch', created_at))::bigint <> ALL ($11::bigint[])
     AND floor(date_part('epoch', updated_at))::bigint <> ALL ($12::bigint[])
     AND status = ANY ($13::text[])
     AND ($14::text[] IS NULL OR channel = ANY ($14)) AND channel <> ALL ($15::text[])
     AND ($16::text[] IS NULL OR external_id = ANY ($16))
     AND (external_id IS NULL OR external_id <> ALL ($17::text[]))
     AND custom_attributes @> ALL ($18::jsonb[]) AND NOT custom_attributes @> ANY ($19::jsonb[])
), total AS (
  SELECT count(*) AS n
    FROM (SELECT FROM matching
           WHERE created_at < to_timestamp($5::bigint)
           ORDER BY created_at DESC, id DESC) AS in_order
), page AS (
  SELECT *
    FROM matching
   WHERE (created_at, id) < (to_timestamp($6::bigint / 1000000.0), $7::uuid)
   ORDER BY created_at DESC, id DESC
   LIMIT $8::bigint
)
SELECT total.n, contact.id, contact.external_id, contact.name, contact.email, contact.phone,
       NULL AS conversation_id, NULL, NULL AS created_us, NULL, NULL, NULL, NULL, NULL, NULL
  FROM total
  LEFT JOIN contact ON true
 UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL,
       id, external_id,
       (date_part('epoch', created_at) * 1000000)::bigint,
       (date_part('epoch', updated_at) * 1000000)::bigint,
       (date_part('epoch', last_message_at) * 1000000)::bigint,
       channel, status, custom_attributes, message_count
  FROM page
 ORDER BY created_us DESC NULLS FIRST, conversation_id DESC
