-- The oldest month if it may go, and where it ends; both NULL: none may.   $1 months that are kept
-- columns: partition until_us
SELECT partition, audit.us(until) AS until_us FROM audit.find_droppable($1::integer)
