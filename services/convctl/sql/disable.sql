-- columns: slots
SELECT audit.move_disable($1::uuid) AS slots
