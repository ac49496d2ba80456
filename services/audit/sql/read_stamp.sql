-- The transaction and the time of blocks that are made now.
-- columns: made_xid made_us
SELECT audit.number_of(pg_current_xact_id()) AS made_xid, audit.us(clock_timestamp()) AS made_us
