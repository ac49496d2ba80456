-- $1 organization
-- columns: name n sum
SELECT name, n, sum FROM cell.sum_rows($1::uuid)
