-- Stops following the other cell.   $1 organization
-- columns: disabled
SELECT cell.disable($1::uuid) AS disabled
