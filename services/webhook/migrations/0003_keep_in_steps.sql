-- Events are dropped in steps, as often as need be: more of them can come in an hour than one step
-- should delete. They are found by their ids, which hold the time they were made: an index by age
-- would grow useless as the room of old rows is used for new ones.

-- Deletes up to `most` events whose deliveries are no longer in the log; returns how many.
CREATE FUNCTION webhook.drop_events(most integer) RETURNS integer
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
     LIMIT most
  )
  DELETE FROM webhook.events WHERE ctid = ANY (ARRAY(SELECT spot FROM old));
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END
$$;
REVOKE ALL ON FUNCTION webhook.drop_events(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION webhook.drop_events(integer) TO conv_webhook;

-- As before, but for the events.
CREATE OR REPLACE FUNCTION webhook.keep_partitions(OUT made integer, OUT dropped integer,
                                                   OUT stray bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '1s'
AS $$
DECLARE
  today constant timestamptz := date_trunc('day', now());
  old text;
BEGIN
  made := 0;
  dropped := 0;
  stray := 0;
  IF NOT webhook.lock_partitioning() THEN
    RETURN;
  END IF;
  FOR ahead IN 0..2 LOOP
    IF webhook.make_partition(today + ahead * interval '1 day') THEN
      made := made + 1;
    END IF;
  END LOOP;
  FOR old IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'webhook.deliveries'::regclass
       AND c.relname < 'deliveries_' || to_char(today - interval '30 days', 'YYYY_MM_DD')
  LOOP
    EXECUTE format('DROP TABLE webhook.%I', old);
    dropped := dropped + 1;
  END LOOP;
  SELECT count(*) INTO stray FROM webhook.deliveries_default;
END
$$;

DROP INDEX webhook.events_by_age;
