-- The service changes what may change and nothing else: what identifies a row, whose it is and where
-- it came from stays as it was written.
REVOKE UPDATE ON conversation.contacts, conversation.conversations FROM conv_conversation;
GRANT UPDATE (external_id, name, email, phone, erased_at) ON conversation.contacts
  TO conv_conversation;
GRANT UPDATE (status, custom_attributes, message_count, last_message_at, updated_at, deleted_at)
  ON conversation.conversations TO conv_conversation;
