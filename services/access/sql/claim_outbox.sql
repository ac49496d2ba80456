-- Claims changes that are due, in order, of the organizations in one cell: until the claim expires, no
-- other process takes them.
--   $1 milliseconds until the claim expires   $2 how many at most
--   $3 bytes of JSON at most, except for a single change; escaped, a byte may take six   $4 the cell
-- columns: organization_id id who user_id change target detail address
WITH due AS MATERIALIZED (
    SELECT waiting.organization_id, change.id, change.bytes
      FROM access.outbox_cells AS waiting
     CROSS JOIN LATERAL (SELECT id, 512 + octet_length(detail::text)
                                    + 6 * (octet_length(who) + coalesce(octet_length(target), 0))
                                    AS bytes
                           FROM access.outbox
                          WHERE organization_id = waiting.organization_id AND due_at <= now()
                          ORDER BY id
                          LIMIT $2::bigint
                            FOR NO KEY UPDATE SKIP LOCKED) AS change
     WHERE waiting.cell = $4::text
     LIMIT $2::bigint
), added AS (
    SELECT organization_id, id, bytes, sum(bytes) OVER (ORDER BY organization_id, id) AS total
      FROM due
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
