-- Until the commit. What follows in the transaction sees all that was committed by those who had
-- the lock before; a lock taken within the same statement would come too late for what it sees.
-- $1 organization
SELECT FROM access.organizations WHERE organization_id = $1::uuid FOR NO KEY UPDATE
