-- One page of a contact's conversations, newest first, with filters that need the rows themselves
-- but exclude no values (search_without.sql is for filters that do).
--    1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--    4 created at this second or later
--    5 6 the page begins after this place: created_at in Unix microseconds, and id
--    7 updated at this second or later  8 and before this one
--    9 of these statuses  10 of these channels  11 of these external ids
--   12 with the attributes of this object
--   13 rows at most
-- In 7 to 12, NULL means no filter. NULL is checked first, because most filters are NULL and
-- testing each row has a cost. Seconds are those that clients see, rounded down. The service asks
-- for the rows in binary.
--
-- The first and the last row are not conversations but readings of PostgreSQL's counters: index
-- entries walked (NULL in the first row if track_counts is off) and blocks fetched of attributes
-- that are stored apart. The last row also has the elapsed time of the statement. They come first
-- and last because the parts of the UNION ALL are appended without workers (a test fails
-- otherwise).
--
-- The place is the page's only upper bound, as in search_contact.sql. No row is tested twice:
-- search_rest.sql counts those after the page, if there are any. A single statement for both takes
-- half as much time again, because every plan node is set up for each search.
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
  ORDER BY created_at DESC, id DESC
  LIMIT $13::bigint)
 UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass),
       pg_stat_get_xact_blocks_fetched(
         (SELECT reltoastrelid FROM pg_class WHERE oid = 'conversation.conversations'::regclass)),
       (date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000000)::bigint
