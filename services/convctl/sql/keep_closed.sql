-- Closes the organization for good, unless it has been opened because nobody seemed to go on with the move.
-- $1 organization
-- columns: organization_id
UPDATE cell.moves SET state = 'gone', since = clock_timestamp()
 WHERE organization_id = $1::uuid AND state IN ('gone', 'closed')
RETURNING organization_id
