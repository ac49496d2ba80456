-- Who drops a day of the log waits for all who read it, and keeps those waiting who come later. So a
-- call makes or drops one day at most, in a transaction of its own, and waits for a moment only; when
-- that is not enough, it says that others were busy and is called again soon.

ALTER FUNCTION webhook.make_partition(timestamptz) SET lock_timeout = '50ms';

DROP FUNCTION webhook.keep_partitions();
CREATE FUNCTION webhook.keep_partitions(OUT made integer, OUT dropped integer, OUT stray bigint,
                                        OUT busy boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET timezone = 'UTC'
SET lock_timeout = '50ms'
AS $$
DECLARE
  today constant timestamptz := date_trunc('day', now());
  old text;
BEGIN
  made := 0;
  dropped := 0;
  stray := 0;
  busy := false;
  IF NOT webhook.lock_partitioning() THEN
    RETURN;
  END IF;
  BEGIN
    FOR ahead IN 0..2 LOOP
      EXIT WHEN made > 0;
      IF webhook.make_partition(today + ahead * interval '1 day') THEN
        made := 1;
      END IF;
    END LOOP;
    SELECT c.relname INTO old
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'webhook.deliveries'::regclass AND made = 0
       AND c.relname < 'deliveries_' || to_char(today - interval '30 days', 'YYYY_MM_DD')
     ORDER BY c.relname
     LIMIT 1;
    IF old IS NOT NULL THEN
      EXECUTE format('DROP TABLE webhook.%I', old);
      dropped := 1;
    END IF;
  EXCEPTION WHEN lock_not_available THEN
    made := 0;
    dropped := 0;
    busy := true;
  END;
  SELECT count(*) INTO stray FROM webhook.deliveries_default;
END
$$;
REVOKE ALL ON FUNCTION webhook.keep_partitions() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION webhook.keep_partitions() TO conv_webhook;
