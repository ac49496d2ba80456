-- Counts a contact's conversations after a place, with the filters of search_without.sql.
--    1 to 18 as there
-- The columns before and after the count are readings of PostgreSQL's counters, as in
-- search_filtered.sql, and the elapsed time. The counted rows are ordered: since the role may not
-- sort, that leaves the planner only one index.
-- columns: walked_before fetched_before n walked fetched took_us
SELECT pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass)
         AS walked_before,
       pg_stat_get_xact_blocks_fetched(apart.id) AS fetched_before,
       (SELECT count(*)
          FROM (SELECT FROM conversation.conversations
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
                 ORDER BY created_at DESC, id DESC) AS in_order) AS n,
       pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass)
         AS walked,
       pg_stat_get_xact_blocks_fetched(apart.id) AS fetched,
       (date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000000)::bigint AS took_us
  FROM (SELECT reltoastrelid AS id FROM pg_class
         WHERE oid = 'conversation.conversations'::regclass) AS apart
