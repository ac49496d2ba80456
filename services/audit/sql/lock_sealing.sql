-- Only one process seals at a time; the others try again later. Held until the transaction ends.
-- columns: is_first
SELECT audit.lock_sealing() AS is_first
