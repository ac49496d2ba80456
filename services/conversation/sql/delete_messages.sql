-- Deletes the messages of a deleted conversation.
--
--   1 organization  2 id of the conversation
--
-- A separate statement, because an append may commit after the snapshot of delete_conversation.sql
-- is taken and before that locks the conversation: only a later snapshot shows the appended
-- message.
DELETE FROM conversation.messages
 WHERE organization_id = $1::uuid AND conversation_id = $2::uuid
   AND EXISTS (SELECT FROM conversation.conversations
                WHERE organization_id = $1 AND id = $2 AND deleted_at IS NOT NULL)
