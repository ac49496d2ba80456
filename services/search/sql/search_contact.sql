-- One page of a contact's conversations, newest first. Filters on created_at at most: search_total.sql, which
-- goes with it, counts on the index alone.
--    1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--    4 created at this second or later
--    5 6 the page is behind this place: created_at in Unix microseconds, and id  7 rows at most
-- The service asks for the rows in binary: PostgreSQL sends times and ids as they are stored.
--
-- The place is the only upper bound of the page. A second one, such as the count has, could become
-- the start of the walk along the index, and a deep page is far from there.
--
-- Each node of a plan is set up for each search, and to append the total, the contact and the page to each
-- other costs some more for each row: two plain statements cost three quarters of one that did all of it.
-- columns: id external_id created_at updated_at last_message_at channel status custom_attributes
-- columns: message_count
SELECT id, external_id, created_at, updated_at, last_message_at, channel, status,
       custom_attributes, message_count
  FROM conversation.conversations
 WHERE organization_id = $1::uuid AND deleted_at IS NULL
   AND contact_id = coalesce(
         (SELECT id FROM conversation.contacts
           WHERE organization_id = $1 AND id = $2::uuid AND erased_at IS NULL),
         (SELECT id FROM conversation.contacts
           WHERE organization_id = $1 AND external_id = $3::text))
   AND created_at >= to_timestamp($4::bigint)
   AND (created_at, id) < (to_timestamp($5::bigint / 1000000.0), $6::uuid)
 ORDER BY created_at DESC, id DESC
 LIMIT $7::bigint
