-- A move that cannot go on comes to an end (docs/cells.md).

-- As before, and where the other cell does not answer until statement_timeout: that is said without the statement
-- too.
CREATE OR REPLACE FUNCTION audit.move_subscribe(organization uuid, conninfo text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  name constant text := audit.move_name(organization);
BEGIN
  EXECUTE format('CREATE SUBSCRIPTION %I CONNECTION %L PUBLICATION %I
                  WITH (create_slot = false, slot_name = %L)', name, conninfo, name, name);
EXCEPTION
  WHEN QUERY_CANCELED THEN
    RAISE SQLSTATE '57014' USING MESSAGE = SQLERRM;
  WHEN OTHERS THEN
    RAISE SQLSTATE '08006' USING MESSAGE = SQLERRM;
END
$$;

-- How slots are named, for LIKE, by which tables are copied to the other cell's server: should that be lost, nothing
-- else says which slots here were for it.
CREATE FUNCTION audit.move_note(organization uuid, slots text) RETURNS void
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  EXECUTE format('COMMENT ON PUBLICATION %I IS %L', audit.move_name(organization), slots);
END
$$;
REVOKE ALL ON FUNCTION audit.move_note(uuid, text) FROM PUBLIC;
