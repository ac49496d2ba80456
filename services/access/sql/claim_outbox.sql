-- Claims changes that are due, in order, of the organizations in one cell: until the claim expires, no
-- other process takes them. Leaves out organizations that are switching to another cell, and corrects the
-- cell of changes whose organization has moved since. The range and the order are such that only
-- outbox_by_cell serves them, whatever the statistics say.
--   $1 milliseconds until the claim expires   $2 how many at most
--   $3 bytes of JSON at most, except for a single change; escaped, a byte may take six   $4 the cell
-- columns: organization_id id who user_id change target detail address
WITH due AS MATERIALIZED (
    SELECT change.organization_id, change.id, coalesce(o.cell, 'main') AS cell,
           512 + octet_length(change.detail::text)
               + 6 * (octet_length(change.who) + coalesce(octet_length(change.target), 0)) AS bytes
      FROM access.outbox AS change
      LEFT JOIN access.organizations AS o ON o.organization_id = change.organization_id
     WHERE change.cell BETWEEN $4::text AND $4::text AND change.due_at <= now()
       AND NOT EXISTS (SELECT FROM access.moves AS m
                        WHERE m.organization_id = change.organization_id AND m.step = 'switching')
     ORDER BY change.cell, change.organization_id, change.id
     LIMIT $2::bigint
       FOR NO KEY UPDATE OF change SKIP LOCKED
), moved AS (
    UPDATE access.outbox AS change SET cell = due.cell
      FROM due
     WHERE change.organization_id = due.organization_id AND change.id = due.id
       AND due.cell <> $4::text
), added AS (
    SELECT organization_id, id, bytes, sum(bytes) OVER (ORDER BY organization_id, id) AS total
      FROM due
     WHERE cell = $4::text
), claimed AS (
    UPDATE access.outbox AS change SET due_at = now() + $1::bigint * interval '1 millisecond'
      FROM added
     WHERE change.organization_id = added.organization_id AND change.id = added.id
       AND (added.total <= $3::bigint OR added.total = added.bytes)
    RETURNING change.*
)
SELECT organization_id, id, who, user_id, change, target, detail, address
  FROM claimed
 ORDER BY organization_id, id
