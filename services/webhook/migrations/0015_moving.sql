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
