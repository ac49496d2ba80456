-- Deletes blocks of months that have been dropped; returns how many.   $1 how many at most
-- columns: dropped
SELECT audit.drop_blocks($1::integer) AS dropped
