-- Appends changes made by another service to the log of changes, one array for each column: enum in
-- audit_record.c. Their time is the one in their ids. A change that exists already stays as it is.
INSERT INTO audit.changes (organization_id, id, created_at, who, user_id, change, target, detail,
                           address)
SELECT organization_id, id, audit.time_of(id), who, user_id, change, target, detail::json, address
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[],
              $8::text[])
       AS entry (organization_id, id, who, user_id, change, target, detail, address)
 WHERE (SELECT cell.admit($1) FROM cell.moves LIMIT 1) IS NOT FALSE
    ON CONFLICT DO NOTHING
