-- Continues the transaction numbers of an audit log that was moved to another server.
-- columns: added
SELECT audit.continue_numbers() AS added
