-- Whether all entries are sealed whose numbers are below those of blocks that will come from another cell.
-- $1 the other cell's number when numbers were raised
-- columns: is_sealed
SELECT audit.is_sealed_below(audit.numbered($1::xid8, 2147483648)) AS is_sealed
