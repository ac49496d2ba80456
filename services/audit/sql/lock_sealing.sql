-- Only one process seals at a time; the others try again later. Held until the transaction ends. Also the
-- database's time, because nothing is sealed while its clock and ours differ.
-- columns: is_first now_us
SELECT audit.lock_sealing() AS is_first, audit.us(clock_timestamp()) AS now_us
