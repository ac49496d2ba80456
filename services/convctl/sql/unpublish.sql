-- columns: done
SELECT cell.unpublish($1::uuid) IS NOT NULL AS done
