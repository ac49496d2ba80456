-- The place that everything is sealed to, found by an index that can only be used for that. With the
-- request for its last column it also gave the order in which the blocks of one organization are
-- looked up, and was taken for it as long as the statistics knew of few blocks: a walk through
-- everybody's.
DROP INDEX audit.blocks_by_xid;
CREATE INDEX blocks_by_xid ON audit.blocks (last_xid, organization_id, number);
