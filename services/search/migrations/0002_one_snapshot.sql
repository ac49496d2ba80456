-- A page and its total are two statements of one transaction, and are to see the same conversations: the
-- snapshot of the first holds for both. Nothing that the service writes can conflict by that, for it only adds
-- audit entries.
DO $$
BEGIN
  EXECUTE format('ALTER ROLE conv_search IN DATABASE %I SET default_transaction_isolation = %L',
                 current_database(), 'repeatable read');
END
$$;
