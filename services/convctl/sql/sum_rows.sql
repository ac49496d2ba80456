-- $1 organization
-- columns: name n sum
SELECT name, n, sum FROM audit.move_sums($1::uuid)
