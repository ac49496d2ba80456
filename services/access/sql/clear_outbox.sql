-- Deletes changes that the log has: $1 organizations, $2 ids.
DELETE FROM access.outbox
 USING unnest($1::uuid[], $2::uuid[]) AS sent (organization_id, id)
 WHERE outbox.organization_id = sent.organization_id AND outbox.id = sent.id
