-- Continues the transaction numbers of an audit log that was moved to another server (audit/0014).
-- columns: added
SELECT audit.continue_numbers() AS added
