-- columns: published
SELECT cell.publish($1::uuid) IS NOT NULL AS published
