-- The contact whose conversations search_filtered.sql or search_without.sql gives, which is asked next; no row
-- for one that is unknown or erased.
--    1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
-- Beside it, how far PostgreSQL's counters are: of entries of the index that were walked along, and of blocks of
-- attributes that are stored apart. NULL: it does not count.
-- columns: contact_id contact_external_id contact_name contact_email contact_phone walked fetched
SELECT id AS contact_id, external_id AS contact_external_id, name AS contact_name,
       email AS contact_email, phone AS contact_phone,
       CASE WHEN current_setting('track_counts')::boolean THEN
         pg_stat_get_xact_tuples_returned('conversation.conversations_of_contact'::regclass)
       END AS walked,
       pg_stat_get_xact_blocks_fetched(
         (SELECT reltoastrelid FROM pg_class
           WHERE oid = 'conversation.conversations'::regclass)) AS fetched
  FROM conversation.contacts
 WHERE organization_id = $1::uuid AND erased_at IS NULL
   AND id = coalesce($2::uuid, (SELECT id FROM conversation.contacts
                                 WHERE organization_id = $1 AND external_id = $3::text))
