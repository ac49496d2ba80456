-- An audit log that was moved to another server: its numbers of transactions go on (audit/0014).
-- columns: added
SELECT audit.continue_numbers() AS added
