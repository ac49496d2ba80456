-- Locks the organization until the commit. Later statements of the transaction see everything that
-- earlier holders of the lock have committed; a lock within the same statement would come after its
-- snapshot.
-- $1 organization
SELECT FROM access.organizations WHERE organization_id = $1::uuid FOR NO KEY UPDATE
