-- Deletes a conversation. Its row stays without attributes and keeps its external id taken. Returns
-- its contact; no row when it is absent or deleted already. Its messages: delete_messages.sql.
--
--   1 organization  2 id
UPDATE conversation.conversations
   SET deleted_at = clock_timestamp(), custom_attributes = '{}'
 WHERE organization_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
RETURNING contact_id
