-- Removes the messages of a conversation that is deleted.
--
--   1 organization  2 id of the conversation
--
-- A separate statement, after the deletion, which found the conversation free of an append that may
-- have been committed after its snapshot was taken: only a later one shows what was appended.
DELETE FROM conversation.messages
 WHERE organization_id = $1::uuid AND conversation_id = $2::uuid
   AND EXISTS (SELECT FROM conversation.conversations
                WHERE organization_id = $1 AND id = $2 AND deleted_at IS NOT NULL)
