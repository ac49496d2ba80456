-- columns: done
SELECT audit.move_unsubscribe($1::uuid) IS NOT NULL AS done
