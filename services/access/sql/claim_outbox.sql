-- Claims changes that are due, in order, of organizations in one cell: until the claim expires, no
-- other process takes them. Changes of an organization that is switching to another cell wait.
--   $1 milliseconds until the claim expires   $2 how many at most
--   $3 bytes of JSON at most, except for a single change; escaped, a byte may take six
-- columns: organization_id id who user_id change target detail address cell
WITH due AS MATERIALIZED (
    SELECT organization_id, id,
           coalesce((SELECT cell FROM access.organizations AS o
                      WHERE o.organization_id = outbox.organization_id), 'main') AS cell,
           512 + octet_length(detail::text)
               + 6 * (octet_length(who) + coalesce(octet_length(target), 0)) AS bytes
      FROM access.outbox
     WHERE due_at <= now()
       AND NOT EXISTS (SELECT FROM access.moves AS m
                        WHERE m.organization_id = outbox.organization_id AND m.step = 'switching')
     ORDER BY organization_id, id
     LIMIT $2::bigint
       FOR NO KEY UPDATE SKIP LOCKED
), added AS (
    SELECT organization_id, id, cell, bytes, sum(bytes) OVER (ORDER BY organization_id, id) AS total
      FROM due
     WHERE cell = (SELECT cell FROM due ORDER BY organization_id, id LIMIT 1)
), claimed AS (
    UPDATE access.outbox AS change SET due_at = now() + $1::bigint * interval '1 millisecond'
      FROM added
     WHERE change.organization_id = added.organization_id AND change.id = added.id
       AND (added.total <= $3::bigint OR added.total = added.bytes)
    RETURNING change.*, added.cell
)
SELECT organization_id, id, who, user_id, change, target, detail, address, cell
  FROM claimed
 ORDER BY organization_id, id
