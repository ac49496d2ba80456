-- columns: opened
SELECT audit.move_open($1::uuid) IS NOT NULL AS opened
