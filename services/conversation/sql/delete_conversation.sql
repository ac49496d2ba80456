-- Deletes a conversation: its row stays and keeps its external id taken, its messages go. Returns
-- its contact; no row when the conversation is absent or deleted already.
--
--   1 organization  2 id
WITH deleted AS (
  UPDATE conversation.conversations
     SET deleted_at = clock_timestamp()
   WHERE organization_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
  RETURNING id, contact_id
), removed AS (
  DELETE FROM conversation.messages
   WHERE organization_id = $1 AND conversation_id = (SELECT id FROM deleted)
)
SELECT contact_id FROM deleted
