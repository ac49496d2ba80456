-- Contacts, conversations and messages. The conversation service writes; search reads.
--
-- Every primary and unique key leads with organization_id, so organizations cannot mix, and the tables can be
-- distributed by it. Text that identifies is compared byte by byte (COLLATE "C"): identifiers are case-sensitive, and
-- an index must not depend on the locale library of a machine.

CREATE SCHEMA conversation;

-- -- tables ----------------------------------------------------------------------------------------------------------

-- Erasing removes the personal data from a row; the row stays, because conversations refer to it. NULLs are never
-- equal, so a value that was erased or given up is free for others.
CREATE TABLE conversation.contacts (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL,
  external_id     text        COLLATE "C",
  name            text,
  email           text        COLLATE "C",
  phone           text        COLLATE "C",
  created_at      timestamptz NOT NULL,
  erased_at       timestamptz,
  PRIMARY KEY (organization_id, id),
  CONSTRAINT contacts_erased_holds_nothing CHECK (
    erased_at IS NULL OR num_nonnulls(external_id, name, email, phone) = 0)
) WITH (fillfactor = 90);

-- Only conversations of the channel `api` have an external id, and they always have a contact. The status is active,
-- waiting, human_takeover, resolved, archived or, in legacy rows only, closed. No CHECK constraints say so:
-- PostgreSQL prepares each of them again for every statement that writes here, which costs as much as an index.
--
-- Nor is there a foreign key to contacts: PostgreSQL would look up and lock the contact for each conversation, a fifth
-- of the cost of a create. No role can delete a contact or change its id, and a statement that creates a conversation
-- has found the contact or creates it.
CREATE TABLE conversation.conversations (
  organization_id   uuid        NOT NULL,
  id                uuid        NOT NULL, -- a UUIDv7: the newest have the greatest
  external_id       text        COLLATE "C", -- stays taken when the conversation is deleted
  contact_id        uuid,
  channel           text        COLLATE "C" NOT NULL,
  status            text        COLLATE "C" NOT NULL,
  custom_attributes jsonb       NOT NULL DEFAULT '{}',
  message_count     integer     NOT NULL DEFAULT 0,
  last_message_at   timestamptz,
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  deleted_at        timestamptz,
  PRIMARY KEY (organization_id, id)
) WITH (fillfactor = 90);

CREATE TABLE conversation.messages (
  organization_id uuid        NOT NULL,
  conversation_id uuid        NOT NULL,
  id              uuid        NOT NULL,
  body            text        NOT NULL,
  created_at      timestamptz NOT NULL,
  PRIMARY KEY (organization_id, conversation_id, id),
  FOREIGN KEY (organization_id, conversation_id)
    REFERENCES conversation.conversations (organization_id, id)
);

-- -- indexes ---------------------------------------------------------------------------------------------------------

-- What is unique in an organization. A create claims these values before it writes them (claim.sql).
CREATE UNIQUE INDEX contacts_external_id_key
  ON conversation.contacts (organization_id, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX contacts_email_key
  ON conversation.contacts (organization_id, email) WHERE email IS NOT NULL;
CREATE UNIQUE INDEX contacts_phone_key
  ON conversation.contacts (organization_id, phone) WHERE phone IS NOT NULL;
CREATE UNIQUE INDEX conversations_external_id_key
  ON conversation.conversations (organization_id, external_id) WHERE external_id IS NOT NULL;

-- One contact's conversations, newest first, for all searches. What changes often is not in it, so that an update of
-- attributes need not write to any index. The second half of the condition keeps the planner from using this index, by
-- its organization_id alone, instead of the primary key.
CREATE INDEX conversations_of_contact
  ON conversation.conversations (organization_id, contact_id, created_at DESC, id DESC)
  WHERE deleted_at IS NULL AND contact_id IS NOT NULL;

-- Conversations that are not as the API creates them, for the filters of the dashboard's list (inbox.sql); the others
-- are found by the primary key. What the API creates is in neither, and costs only the evaluation of their conditions.
CREATE INDEX conversations_by_status
  ON conversation.conversations
     (organization_id, (CASE status WHEN 'closed' THEN 'resolved' ELSE status END), id)
  WHERE status <> 'active' AND deleted_at IS NULL;
CREATE INDEX conversations_by_channel
  ON conversation.conversations (organization_id, channel, id)
  WHERE channel <> 'api' AND deleted_at IS NULL;

-- -- grants ----------------------------------------------------------------------------------------------------------

-- The service may change the columns that can change: not what identifies a row, nor its owner, nor its origin.
GRANT USAGE ON SCHEMA conversation TO conv_conversation, conv_search;
GRANT SELECT, INSERT, UPDATE (external_id, name, email, phone, erased_at)
  ON conversation.contacts TO conv_conversation;
GRANT SELECT, INSERT, UPDATE (status, custom_attributes, message_count, last_message_at, updated_at, deleted_at)
  ON conversation.conversations TO conv_conversation;
GRANT SELECT, INSERT, DELETE ON conversation.messages TO conv_conversation;
GRANT SELECT ON conversation.contacts, conversation.conversations TO conv_search;

-- Statements are prepared once for each connection. A plan that is made while the tables are nearly empty must be the
-- right one when they are full: an index, whatever the statistics say. Without jit, because a plan for which there is
-- no index would look expensive enough to be compiled. A page of the list is a walk along an index that ends early,
-- which neither a bitmap nor parallel workers can do.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['enable_seqscan = off', 'enable_bitmapscan = off', 'jit = off',
                                 'max_parallel_workers_per_gather = 0',
                                 'plan_cache_mode = force_generic_plan'] LOOP
    EXECUTE format('ALTER ROLE conv_conversation IN DATABASE %I SET %s', current_database(), setting);
  END LOOP;
END
$$;
