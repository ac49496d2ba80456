-- Like search_filtered.sql, with all filters: also those that exclude values, and several objects
-- of attributes.
--    1 to 12 as there
--   13 created at none of these seconds  14 updated at none of these
--   15 of none of these channels  16 of none of these external ids
--   17 with the attributes of all these objects  18 and with those of none of these
--   19 rows at most
-- In 7 to 18, NULL means no filter. The lists of exclusions add a seventh to the time of a page
-- even if all are NULL, because each has a subplan.
--
-- Large attributes are stored apart from their row, and each operator would fetch and unpack them
-- again. If there are several operators, `|| '{}'` does so once for each row; OFFSET 0 keeps the
-- planner from inlining that expression into each of its uses. Lists that may be long are looked up
-- in a hash table.
-- columns: id external_id created_at updated_at last_message_at channel status custom_attributes
-- columns: message_count walked fetched took_us
(SELECT NULL AS id, NULL AS external_id, NULL AS created_at, NULL AS updated_at, NULL AS last_message_at,
        NULL AS channel, NULL AS status, NULL AS custom_attributes, NULL AS message_count,
        CASE WHEN current_setting('track_counts')::boolean THEN
          pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass)
        END AS walked,
        pg_stat_get_xact_blocks_fetched(
          (SELECT reltoastrelid FROM pg_class
            WHERE oid = 'conversation.conversations'::regclass)) AS fetched,
        NULL::bigint AS took_us)
 UNION ALL
(SELECT id, external_id, created_at, updated_at, last_message_at, channel, status,
        custom_attributes, message_count, NULL, NULL, NULL
   FROM conversation.conversations
  WHERE organization_id = $1::uuid AND deleted_at IS NULL
    AND contact_id = coalesce(
          (SELECT id FROM conversation.contacts
            WHERE organization_id = $1 AND id = $2::uuid AND erased_at IS NULL),
          (SELECT id FROM conversation.contacts
            WHERE organization_id = $1 AND external_id = $3::text))
    AND created_at >= to_timestamp($4::bigint)
    AND (created_at, id) < (to_timestamp($5::bigint / 1000000.0), $6::uuid)
    AND ($7::bigint IS NULL OR updated_at >= to_timestamp($7))
    AND ($8::bigint IS NULL OR updated_at < to_timestamp($8))
    AND ($9::text[] IS NULL OR status = ANY ($9))
    AND ($10::text[] IS NULL OR channel = ANY ($10))
    AND ($11::text[] IS NULL OR external_id = ANY ($11))
    AND ($12::jsonb IS NULL OR custom_attributes @> $12)
    AND ($13::bigint[] IS NULL
         OR floor(date_part('epoch', created_at))::bigint <> ALL ($13))
    AND ($14::bigint[] IS NULL
         OR floor(date_part('epoch', updated_at))::bigint <> ALL ($14))
    AND ($15::text[] IS NULL OR channel NOT IN (SELECT unnest($15)))
    AND ($16::text[] IS NULL OR external_id IS NULL OR external_id NOT IN (SELECT unnest($16)))
    AND ($17::jsonb[] IS NULL
         OR (SELECT attributes @> ALL ($17) AND NOT attributes @> ANY ($18::jsonb[])
               FROM (SELECT custom_attributes || '{}' AS attributes OFFSET 0) AS unpacked))
  ORDER BY created_at DESC, id DESC
  LIMIT $19::bigint)
 UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass),
       pg_stat_get_xact_blocks_fetched(
         (SELECT reltoastrelid FROM pg_class WHERE oid = 'conversation.conversations'::regclass)),
       (date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000000)::bigint
