-- The trail of changes: what operators and the users of the dashboard changed. The service that owns
-- what is changed appends a row in the transaction of the change. It stands beside the trail of the
-- API and is kept as long: what is older than the months that were dropped there goes too.
CREATE TABLE audit.changes (
  organization_id uuid        NOT NULL,
  id              uuid        NOT NULL, -- a UUIDv7: the order of the list
  created_at      timestamptz NOT NULL DEFAULT now(),
  who             text        NOT NULL, -- the user's email address, or operator
  user_id         uuid,                 -- NULL: an operator
  change          text        NOT NULL, -- proto/change.def
  target          text,                 -- the id of what was changed
  detail          json        NOT NULL, -- never a secret
  address         text,                 -- from which the user asked
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX changes_by_age ON audit.changes USING brin (created_at);

-- Who appends needs no right to read, and does not get to say when it was.
DO $$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['conv_access', 'conv_audit', 'conv_conversation',
                                 'conv_webhook'] LOOP
    EXECUTE format('GRANT USAGE ON SCHEMA audit TO %I', service);
    EXECUTE format('GRANT INSERT (organization_id, id, who, user_id, change, target, detail, address)
                       ON audit.changes TO %I', service);
  END LOOP;
END
$$;
GRANT SELECT ON audit.changes TO conv_audit;

-- Deletes up to `most` changes from before the last month that was dropped, those apart whose
-- organization wants them kept for longer; returns how many.
CREATE FUNCTION audit.drop_changes(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_bitmapscan = on -- the only way to use changes_by_age
AS $$
DECLARE
  dropped integer;
BEGIN
  DELETE FROM audit.changes
   WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM audit.changes AS change
            WHERE created_at < (SELECT max(until) FROM audit.dropped)
              AND NOT EXISTS (SELECT FROM audit.minimums AS minimum
                               WHERE minimum.organization_id = change.organization_id
                                 AND change.created_at + minimum.months * interval '1 month'
                                     > now())
            LIMIT most));
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END
$$;
REVOKE ALL ON FUNCTION audit.drop_changes(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.drop_changes(integer) TO conv_audit;
