-- $1 how many at most
-- columns: dropped
SELECT audit.drop_changes($1::integer) AS dropped
