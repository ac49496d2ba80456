-- The same as search_contact.sql, with filters that need the rows themselves. Beside its parameters:
--   10 updated at this second or later  11 and before this one
--   12 created at none of these seconds  13 updated at none of these
--   14 of these statuses
--   15 of these channels (NULL: any)  16 of none of these (NULL: there are none)
--   17 of these external ids (NULL: any)  18 of none of these (NULL: there are none)
--   19 with the attributes of this object (NULL: any)
--   20 with those of all these objects  21 and with those of none of these (NULL: any)
-- Seconds are those that clients see, rounded down. To look at the largest attributes takes some 20
-- microseconds.
--
-- Large attributes are stored apart from their row, and each operator would fetch and unpack them
-- again. Where there are several, `||` with nothing does so once a row; OFFSET 0 keeps it from being put
-- in the places of what it gives. What may be a long list is held against a hash table.
-- columns: conversation.* total
WITH contact AS MATERIALIZED (
  (SELECT id, external_id, name, email, phone,
          pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass) AS walked
     FROM conversation.contacts
    WHERE organization_id = $1::uuid AND id = $2::uuid AND erased_at IS NULL
    UNION ALL
   SELECT id, external_id, name, email, phone,
          pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass)
     FROM conversation.contacts
    WHERE organization_id = $1 AND external_id = $3::text)
  LIMIT 1
), matching AS NOT MATERIALIZED (
  SELECT *
    FROM conversation.conversations
   WHERE organization_id = $1 AND contact_id = (SELECT id FROM contact) AND deleted_at IS NULL
     AND created_at >= to_timestamp($4::bigint)
     AND updated_at >= to_timestamp($10::bigint) AND updated_at < to_timestamp($11::bigint)
     AND floor(date_part('epoch', created_at))::bigint <> ALL ($12::bigint[])
     AND floor(date_part('epoch', updated_at))::bigint <> ALL ($13::bigint[])
     AND status = ANY ($14::text[])
     AND ($15::text[] IS NULL OR channel = ANY ($15))
     AND ($16::text[] IS NULL OR channel NOT IN (SELECT unnest($16)))
     AND ($17::text[] IS NULL OR external_id = ANY ($17))
     AND ($18::text[] IS NULL OR external_id IS NULL OR external_id NOT IN (SELECT unnest($18)))
     AND ($19::jsonb IS NULL OR custom_attributes @> $19)
     AND ($20::jsonb[] IS NULL
          OR (SELECT attributes @> ALL ($20) AND NOT attributes @> ANY ($21::jsonb[])
                FROM (SELECT custom_attributes || '{}' AS attributes OFFSET 0) AS unpacked))
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
SELECT NULL AS id, NULL AS external_id, NULL AS created_at, NULL AS updated_at,
       NULL AS last_message_at, NULL AS channel, NULL AS status, NULL AS custom_attributes,
       NULL AS message_count, contact.id AS contact_id, contact.external_id AS contact_external_id,
       contact.name AS contact_name, contact.email AS contact_email, contact.phone AS contact_phone,
       coalesce($9::bigint, (SELECT n FROM total)) AS total
  FROM (SELECT) AS always
  LEFT JOIN contact ON true
 UNION ALL
SELECT id, external_id,
       (date_part('epoch', created_at) * 1000000)::bigint,
       (date_part('epoch', updated_at) * 1000000)::bigint,
       (date_part('epoch', last_message_at) * 1000000)::bigint,
       channel, status, custom_attributes, message_count,
       NULL, NULL, NULL, NULL, NULL, NULL
  FROM page
 UNION ALL
SELECT NULL, NULL, -9223372036854775808, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL,
       least(date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000000,
             CASE WHEN current_setting('track_counts')::boolean
                  THEN 500 + CASE WHEN num_nonnulls($19, $20) = 0 THEN 2 ELSE 20 END * coalesce(
                    pg_stat_get_xact_tuples_returned(
                      'conversation.conversations_of_contact'::regclass)
                    - (SELECT walked FROM contact), 0) END)::bigint
 ORDER BY created_at DESC NULLS FIRST, id DESC
