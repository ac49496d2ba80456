-- The bounds bind new rows from the migration before on. Rows that were there already are not looked
-- at: that would be a scan of the whole trail, in a transaction that nothing can be sealed beside; what
-- reads them copes with any. A trail without rows has nothing to be looked at, and keeps none that
-- break them.
DO $$
DECLARE
  bound record;
  is_empty boolean;
BEGIN
  FOR bound IN
    SELECT conrelid::regclass AS bounded, conname
      FROM pg_constraint
     WHERE conrelid IN ('audit.entries'::regclass, 'audit.changes'::regclass)
       AND contype = 'c' AND NOT convalidated
  LOOP
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM %s)', bound.bounded) INTO is_empty;
    IF is_empty THEN
      EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %I', bound.bounded, bound.conname);
    END IF;
  END LOOP;
END
$$;
