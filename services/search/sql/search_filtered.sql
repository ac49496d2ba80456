-- One page of a contact's conversations, newest first, and how many there are in all, with filters that need
-- the rows themselves.
--    1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--    4 created at this second or later  5 and before this one
--    6 7 the page is behind this place: created_at in Unix microseconds, and id  8 rows at most
--    9 how many there are in all, where that need not be counted (NULL: count)
--   10 updated at this second or later  11 and before this one
--   12 created at none of these seconds  13 updated at none of these
--   14 of these statuses
--   15 of these channels  16 of none of these
--   17 of these external ids  18 of none of these
--   19 with the attributes of this object
--   20 with those of all these objects  21 and with those of none of these
-- From 10 on NULL is no filter, which is looked at first: most are none, and a test for each row costs.
-- Seconds are those that clients see, rounded down. The service asks for the rows in binary.
-- The first row has the total and the contact, the last one what it all cost; see predicates.h.
--
-- The cost is the time that the statement took, which on a busy machine is mostly the time in which it
-- waited: so at most what it can have taken, by the entries of the index that it walked along, for the page
-- and for the total (2 microseconds each, 8 where attributes or lists are looked at), and by the blocks of
-- attributes that are stored apart (4 microseconds each, unpacking included). A contact of 100 with small
-- attributes is never expensive by that.
--
-- The place is the only upper bound of the page, as in search_contact.sql. The counted rows are put in order:
-- that leaves the planner one index to take (the role may not sort). The parts come one after the other,
-- because they are appended without workers (a CTE keeps them away); a test fails when they do not.
--
-- Large attributes are stored apart from their row, and each operator would fetch and unpack them
-- again. Where there are several, `||` with nothing does so once a row; OFFSET 0 keeps it from being put
-- in the places of what it gives. What may be a long list is held against a hash table.
-- columns: conversation.* total
WITH apart AS MATERIALIZED (
  SELECT reltoastrelid AS id
    FROM pg_class
   WHERE oid = 'conversation.conversations'::regclass
), contact AS MATERIALIZED (
  (SELECT id, external_id, name, email, phone,
          pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass) AS walked,
          pg_stat_get_xact_blocks_fetched((SELECT id FROM apart)) AS fetched
     FROM conversation.contacts
    WHERE organization_id = $1::uuid AND id = $2::uuid AND erased_at IS NULL
    UNION ALL
   SELECT id, external_id, name, email, phone,
          pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass),
          pg_stat_get_xact_blocks_fetched((SELECT id FROM apart))
     FROM conversation.contacts
    WHERE organization_id = $1 AND external_id = $3::text)
  LIMIT 1
), matching AS NOT MATERIALIZED (
  SELECT *
    FROM conversation.conversations
   WHERE organization_id = $1 AND contact_id = (SELECT id FROM contact) AND deleted_at IS NULL
     AND created_at >= to_timestamp($4::bigint)
     AND ($10::bigint IS NULL OR updated_at >= to_timestamp($10))
     AND ($11::bigint IS NULL OR updated_at < to_timestamp($11))
     AND ($12::bigint[] IS NULL
          OR floor(date_part('epoch', created_at))::bigint <> ALL ($12))
     AND ($13::bigint[] IS NULL
          OR floor(date_part('epoch', updated_at))::bigint <> ALL ($13))
     AND ($14::text[] IS NULL OR status = ANY ($14))
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
SELECT id, external_id, created_at, updated_at, last_message_at,
       channel, status, custom_attributes, message_count,
       NULL, NULL, NULL, NULL, NULL, NULL
  FROM page
 UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL,
       least(date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000000,
             CASE WHEN current_setting('track_counts')::boolean
                  THEN 500
                       + CASE WHEN num_nonnulls($12, $13, $15, $16, $17, $18, $19, $20) = 0 THEN 2
                              ELSE 8 END * coalesce(
                           pg_stat_get_xact_tuples_returned(
                             'conversation.conversations_of_contact'::regclass)
                           - (SELECT walked FROM contact), 0)
                       + 4 * coalesce(pg_stat_get_xact_blocks_fetched((SELECT id FROM apart))
                                      - (SELECT fetched FROM contact), 0) END)::bigint
