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
                  WITH (create_slot = false, copy_data = false, slot_name = %L)', name, conninfo, name, name);
EXCEPTION
  WHEN QUERY_CANCELED THEN
    RAISE SQLSTATE '57014' USING MESSAGE = SQLERRM;
  WHEN OTHERS THEN
    RAISE SQLSTATE '08006' USING MESSAGE = SQLERRM;
END
$$;
