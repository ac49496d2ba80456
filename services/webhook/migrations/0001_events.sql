-- The outbox of events: a service writes an event in the transaction that causes it. The id is sent
-- as `evt_` and its 32 hexadecimal digits. Whoever writes cannot read or change what is there.

CREATE SCHEMA webhook;

CREATE TABLE webhook.events (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL,
  type            text        COLLATE "C" NOT NULL,
  data            jsonb       NOT NULL,
  created_at      timestamptz NOT NULL,
  PRIMARY KEY (organization_id, id)
);

GRANT USAGE ON SCHEMA webhook TO conv_conversation, conv_webhook;
GRANT INSERT ON webhook.events TO conv_conversation;
GRANT SELECT, INSERT ON webhook.events TO conv_webhook;
