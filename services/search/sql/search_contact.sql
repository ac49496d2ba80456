-- One page of a contact's conversations, newest first, and how many there are in all. Filters on
-- created_at at most, so that the index alone can count.
--    1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--    4 created at this second or later  5 and before this one
--    6 7 the page is behind this place: created_at in Unix microseconds, and id  8 rows at most
--    9 how many there are in all, where that need not be counted (NULL: count)
-- The first row has the total and the contact, the last one what it all cost; see predicates.h.
--
-- The cost is the time that the statement took, which on a busy machine is mostly the time in which it
-- waited: so at most what it can have taken, by the entries of the index that it walked along.
--
-- The place is the only upper bound of the page. A second one, such as the count has, could become
-- the start of the walk along the index, and a deep page is far from there. The counted rows are
-- put in order, too: that leaves the planner one index to take (the role may not sort).
--
-- The two parts come one after the other, each in its own order, because they are appended without
-- workers (a CTE keeps them away). To sort them once more cost a tenth of the statement; a test
-- fails when a page comes in another order.
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
SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL, NULL, NULL, NULL,
       least(date_part('epoch', clock_timestamp() - statement_timestamp()) * 1000000,
             CASE WHEN current_setting('track_counts')::boolean
                  THEN 500 + 2 * coalesce(
                    pg_stat_get_xact_tuples_returned(
                      'conversation.conversations_of_contact'::regclass)
                    - (SELECT walked FROM contact), 0) END)::bigint
