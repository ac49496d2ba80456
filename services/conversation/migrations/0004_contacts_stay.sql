-- PostgreSQL looked a contact up, and locked its row, for every conversation of it: a fifth of what a
-- create takes. There is nothing to be held: no role can delete a contact or change its id, and what
-- makes a conversation has found its contact, or makes it in the same statement.
ALTER TABLE conversation.conversations DROP CONSTRAINT conversations_contact;
