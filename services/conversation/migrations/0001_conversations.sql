-- Contacts, conversations and messages. Every primary and unique key leads with organization_id, so
-- tenants cannot mix and the tables can be distributed by it.
--
-- Text that identifies is compared byte by byte (COLLATE "C"): identifiers are case-sensitive, and
-- an index must not depend on the locale library of a machine.

CREATE SCHEMA conversation;

-- Erasing takes the personal data off the row; the row itself stays, for the conversations that
-- point at it. NULLs are never equal, so what was erased or given up is free for others.
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

CREATE UNIQUE INDEX contacts_external_id_key
  ON conversation.contacts (organization_id, external_id) WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX contacts_email_key
  ON conversation.contacts (organization_id, email) WHERE email IS NOT NULL;
CREATE UNIQUE INDEX contacts_phone_key
  ON conversation.contacts (organization_id, phone) WHERE phone IS NOT NULL;

-- Only conversations of the channel `api` have an external id, and they always have a contact. The
-- status is active, waiting, human_takeover, resolved, archived or, in legacy rows only, closed.
-- These are not CHECK constraints: PostgreSQL sets each of them up anew for every statement that
-- writes here, which costs as much as an index.
CREATE TABLE conversation.conversations (
  organization_id   uuid        NOT NULL,
  id                uuid        NOT NULL,
  external_id       text        COLLATE "C",
  contact_id        uuid,
  channel           text        COLLATE "C" NOT NULL,
  status            text        COLLATE "C" NOT NULL,
  custom_attributes jsonb       NOT NULL DEFAULT '{}',
  message_count     integer     NOT NULL DEFAULT 0,
  last_message_at   timestamptz,
  created_at        timestamptz NOT NULL,
  updated_at        timestamptz NOT NULL,
  deleted_at        timestamptz,
  PRIMARY KEY (organization_id, id),
  CONSTRAINT conversations_contact FOREIGN KEY (organization_id, contact_id)
    REFERENCES conversation.contacts (organization_id, id)
) WITH (fillfactor = 90);

-- A deleted conversation keeps its external id.
CREATE UNIQUE INDEX conversations_external_id_key
  ON conversation.conversations (organization_id, external_id) WHERE external_id IS NOT NULL;

-- One contact's conversations, newest first. What changes often stays out of it, so that an update
-- of attributes need not touch any index. The second half of the condition keeps the planner from
-- taking this index, by its organization_id alone, where the primary key is wanted.
CREATE INDEX conversations_of_contact
  ON conversation.conversations (organization_id, contact_id, created_at DESC, id DESC)
  WHERE deleted_at IS NULL AND contact_id IS NOT NULL;

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

GRANT USAGE ON SCHEMA conversation TO conv_conversation, conv_search;
GRANT SELECT, INSERT, UPDATE ON conversation.contacts, conversation.conversations
  TO conv_conversation;
GRANT SELECT, INSERT, DELETE ON conversation.messages TO conv_conversation;
GRANT SELECT ON conversation.contacts, conversation.conversations TO conv_search;

-- The service prepares its statements once for each connection. A plan made while the tables are
-- nearly empty must be the right one when they are full: an index, whatever the statistics say.
-- Without jit, because a plan that has no index to take would look dear enough to be compiled.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['enable_seqscan = off', 'jit = off',
                                 'plan_cache_mode = force_generic_plan'] LOOP
    EXECUTE format('ALTER ROLE conv_conversation IN DATABASE %I SET %s',
                   current_database(), setting);
  END LOOP;
END
$$;
