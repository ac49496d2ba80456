-- How many entries lie in the default partition, counted to a thousand.
-- columns: strays
SELECT audit.count_strays() AS strays
