-- Raises the numbers of transactions above those of another cell.   $1 the number there
-- columns: raised
SELECT audit.raise_numbers($1::xid8) AS raised
