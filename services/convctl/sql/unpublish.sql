-- columns: done
SELECT audit.move_unpublish($1::uuid) IS NOT NULL AS done
