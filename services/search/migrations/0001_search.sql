-- Search has no tables: it reads those of the conversation service. These are the settings of its role.
--
-- Statements are prepared once for each connection. A plan that is made while the tables are nearly empty must be the
-- right one when they are full: a walk along the index of one contact's conversations, whatever the statistics say.
-- Only that index gives their order, so any other plan would have to sort, or to scan.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['enable_seqscan = off', 'enable_bitmapscan = off', 'enable_sort = off', 'jit = off',
                                 'plan_cache_mode = force_generic_plan'] LOOP
    EXECUTE format('ALTER ROLE conv_search IN DATABASE %I SET %s', current_database(), setting);
  END LOOP;
END
$$;
