-- Deletes blocks of months that have been dropped; returns how many.   $1 at most
SELECT audit.drop_blocks($1::integer)
