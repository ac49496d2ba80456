-- columns: done
SELECT cell.unsubscribe($1::uuid) IS NOT NULL AS done
