-- Whether all entries are sealed that have a number below those of blocks to come from another cell.
-- $1 the number there when numbers were raised
-- columns: is_sealed
SELECT audit.is_sealed_below(audit.numbered($1::xid8, 2147483648)) AS is_sealed
