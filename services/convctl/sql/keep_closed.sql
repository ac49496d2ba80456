-- Closes the organization for good, unless it has been closed for so long that it may be open again.
-- $1 organization
-- columns: organization_id
UPDATE audit.moving SET state = 'gone', since = clock_timestamp()
 WHERE organization_id = $1::uuid
   AND (state = 'gone' OR state = 'closed' AND since > clock_timestamp() - audit.closed_for() * 0.8)
RETURNING organization_id
