-- Creates partitions for the months and days of another cell.   $1 their names
-- columns: made
SELECT audit.make_partitions_of($1::text[]) AS made
