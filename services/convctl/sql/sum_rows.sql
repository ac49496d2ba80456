-- $1 organization, $2 whether to sum up the rows' contents as well
-- columns: name sums
SELECT name, sums FROM audit.move_sums($1::uuid, $2::boolean)
