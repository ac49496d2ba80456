-- Creates partitions for the months and days of another cell.   $1 their names
-- columns: made
SELECT cell.make_partitions($1::text[]) AS made
