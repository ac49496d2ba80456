-- $1 organization, $2 whether what is in the rows is summed up as well
-- columns: name sums
SELECT name, sums FROM audit.move_sums($1::uuid, $2::boolean)
