-- The audit service appends changes that another service hands to it over the bus. That may be after a
-- while, so it says when they were made: the time in their ids, as with entries.
--
-- The role of the access service keeps its right to append to the log of changes for this version:
-- replicas of the version before still do so themselves while replicas of this one run beside them. A
-- later migration revokes it.
GRANT INSERT (created_at) ON audit.changes TO conv_audit;
