-- Stops following the other cell.   $1 organization
-- columns: disabled
SELECT audit.move_disable($1::uuid) AS disabled
