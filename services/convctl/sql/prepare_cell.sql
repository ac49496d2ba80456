-- Makes tables for the months and days of another cell, and numbers transactions beyond its own.
-- $1 names of tables, $2 the number there
-- columns: partitioned numbered
SELECT audit.make_partitions_of($1::text[]) AS partitioned, audit.raise_numbers($2::xid8) AS numbered
