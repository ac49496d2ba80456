-- Appends changes to the outbox, one array for each column: enum column in audit_log.c.
INSERT INTO access.outbox (organization_id, id, who, user_id, change, target, detail, address, cell)
SELECT organization_id, id, who, user_id, change, target, detail::json, address,
       coalesce((SELECT o.cell FROM access.organizations AS o
                  WHERE o.organization_id = entry.organization_id), 'main')
  FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[],
              $8::text[])
       AS entry (organization_id, id, who, user_id, change, target, detail, address)
