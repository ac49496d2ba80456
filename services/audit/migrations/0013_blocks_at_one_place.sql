-- Several blocks may end with the same entry. A foreign block can stand where one of ours has to: were
-- there room for one only, nobody's entries could be sealed any more.
DROP INDEX audit.blocks_of_organization;
CREATE INDEX blocks_of_organization
    ON audit.blocks (organization_id, last_xid, last_request_id);
