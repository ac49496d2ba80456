-- How many entries lie in the default partition, counted to a thousand.
SELECT audit.count_strays()
