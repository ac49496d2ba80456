-- How many deliveries an organization has been given in the minute that it was last given any: what
-- one organization's events may cost in work and in room on the disk has a bound.
CREATE TABLE webhook.budgets (
  organization_id uuid        PRIMARY KEY,
  minute          timestamptz NOT NULL,
  queued          integer     NOT NULL, -- to be sent
  skipped         integer     NOT NULL  -- not to be sent, on record or not
) WITH (fillfactor = 50); -- a row is counted up where it lies

-- Also what was skipped without a place in the log.
ALTER TABLE webhook.statistics ADD COLUMN skipped integer NOT NULL DEFAULT 0;

-- What no service of ours writes, and what reads events could not take.
ALTER TABLE webhook.events ADD CONSTRAINT sound
  CHECK (isfinite(created_at) AND octet_length(type) <= 64 AND pg_column_size(data) <= 65536)
  NOT VALID;

GRANT SELECT, INSERT, UPDATE ON webhook.budgets TO conv_webhook;
GRANT UPDATE (skipped) ON webhook.statistics TO conv_webhook;
