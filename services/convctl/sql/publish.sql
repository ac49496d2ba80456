-- columns: published
SELECT audit.move_publish($1::uuid) IS NOT NULL AS published
