-- Deletes a conversation. The row stays, without attributes, and keeps its external id taken.
-- Returns one row: whether it was deleted, and its contact. If it was not, is_locked tells whether
-- it exists but another transaction is changing it: run this again. For its messages see
-- delete_messages.sql.
--
--   1 organization  2 id
-- columns: is_locked is_deleted contact_id
WITH held AS MATERIALIZED (
  SELECT id
    FROM conversation.conversations
   WHERE organization_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
     FOR NO KEY UPDATE SKIP LOCKED
), deleted AS (
  UPDATE conversation.conversations
     SET deleted_at = clock_timestamp(), custom_attributes = '{}'
   WHERE organization_id = $1 AND id = (SELECT id FROM held)
  RETURNING id, contact_id
)
SELECT v.id IS NULL AND EXISTS (
         SELECT FROM conversation.conversations
          WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL) AS is_locked,
       v.id IS NOT NULL AS is_deleted, v.contact_id
  FROM (SELECT) AS always
  LEFT JOIN deleted v ON true
