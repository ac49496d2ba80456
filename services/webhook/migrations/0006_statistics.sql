-- How many attempts succeeded and failed in each minute of an organization: counted with the verdict,
-- so that a week can be shown without a look at the log, which may have millions of rows. Kept for 8
-- days.
CREATE TABLE webhook.statistics (
  organization_id uuid        NOT NULL,
  minute          timestamptz NOT NULL,
  delivered       integer     NOT NULL,
  failed          integer     NOT NULL,
  PRIMARY KEY (organization_id, minute)
) WITH (fillfactor = 70); -- a minute's row is counted up where it lies
CREATE INDEX statistics_by_minute ON webhook.statistics (minute);

GRANT SELECT, INSERT, DELETE, UPDATE (delivered, failed) ON webhook.statistics TO conv_webhook;
