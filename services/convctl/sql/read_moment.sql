-- columns: moment
SELECT clock_timestamp()::text AS moment
