-- One page of a contact's conversations, newest first, with filters on created_at only.
-- search_total.sql, sent with it, counts them from the index alone.
--    1 organization  2 id of the contact, or 3 its external id (both NULL: no contact)
--    4 created at this second or later
--    5 6 the page begins after this place: created_at in Unix microseconds, and id  7 rows at most
-- The service asks for the rows in binary: PostgreSQL sends times and ids as they are stored.
--
-- The place is the page's only upper bound. If there were a second one, as the count has, the index
-- walk could start from that, far from where a deep page begins.
--
-- The total and the contact come from a separate statement. Every plan node is set up for each
-- search, and combining total, contact and page in one result has a cost for each row: two plain
-- statements take three quarters of the time of a combined one.
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
