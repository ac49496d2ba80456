-- The oldest month, if it may be dropped, and its end; both NULL: it may not.   $1 months to keep
-- columns: partition until_us
SELECT partition, audit.us(until) AS until_us FROM audit.find_droppable($1::integer)
