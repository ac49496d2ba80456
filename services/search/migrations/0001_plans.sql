-- The service prepares its statements once for each connection. A plan made while the tables are
-- nearly empty must be the right one when they are full: a walk along the index of one contact's
-- conversations, whatever the statistics say. That index alone gives their order, so a plan that
-- takes another one would have to sort, or to scan.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['enable_seqscan = off', 'enable_bitmapscan = off',
                                 'enable_sort = off', 'jit = off',
                                 'plan_cache_mode = force_generic_plan'] LOOP
    EXECUTE format('ALTER ROLE conv_search IN DATABASE %I SET %s', current_database(), setting);
  END LOOP;
END
$$;
