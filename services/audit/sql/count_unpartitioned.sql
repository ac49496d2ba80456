-- How many entries are in the default partition, counted up to a thousand.
-- columns: strays
SELECT audit.count_strays() AS strays
