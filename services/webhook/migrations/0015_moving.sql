-- The transaction that made them, as in the audit log, whose numbers go on in another cell and on another server: an
-- endpoint gets the events of later transactions, whatever clocks show. Who writes an event reads how numbers go on.
ALTER TABLE webhook.endpoints ADD COLUMN number xid8 NOT NULL DEFAULT '3';
ALTER TABLE webhook.endpoints ALTER COLUMN number SET DEFAULT audit.number_of(pg_current_xact_id());
ALTER TABLE webhook.events ADD COLUMN number xid8 NOT NULL DEFAULT '3';
ALTER TABLE webhook.events ALTER COLUMN number SET DEFAULT audit.number_of(pg_current_xact_id());
GRANT SELECT ON audit.numbering TO conv_conversation, conv_webhook;

-- As before, but for organizations that another cell serves, or will: their rows are compared with those of that
-- cell.
CREATE OR REPLACE FUNCTION webhook.drop_events(most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
AS $$
DECLARE
  until constant timestamptz := date_trunc('day', now()) - interval '31 days';
  until_id constant uuid := webhook.id_at(until);
  dropped integer;
BEGIN
  WITH RECURSIVE organizations AS (
    (SELECT organization_id AS id FROM webhook.events ORDER BY organization_id LIMIT 1)
    UNION ALL
    SELECT (SELECT organization_id FROM webhook.events
             WHERE organization_id > o.id ORDER BY organization_id LIMIT 1)
      FROM organizations o
     WHERE o.id IS NOT NULL
  ), old AS (
    SELECT e.spot
      FROM organizations o
     CROSS JOIN LATERAL (
       SELECT ctid AS spot FROM webhook.events
        WHERE organization_id = o.id AND id < until_id AND created_at < until AND dispatched
        ORDER BY id
        LIMIT most) AS e
     WHERE o.id NOT IN (SELECT organization_id FROM audit.closed)
     LIMIT most
  )
  DELETE FROM webhook.events WHERE ctid = ANY (ARRAY(SELECT spot FROM old));
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END
$$;
