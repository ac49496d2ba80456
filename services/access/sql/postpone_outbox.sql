-- Releases claimed changes and makes them due again later.
-- $1 organizations, $2 ids, $3 milliseconds, $4 the outcome with which they were refused; NULL =
-- they were not
UPDATE access.outbox
   SET due_at = now() + $3::bigint * interval '1 millisecond', refusal = coalesce($4::text, refusal)
  FROM unnest($1::uuid[], $2::uuid[]) AS kept (organization_id, id)
 WHERE outbox.organization_id = kept.organization_id AND outbox.id = kept.id
