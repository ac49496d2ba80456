-- Appends entries to the audit log, one array for each column: enum audit_log_column in
-- audit_log.h. An entry that exists already stays as it is. Returns the ids of the inserted ones,
-- in order. Fails if another cell serves the organization (cell.admit).
-- columns: request_id
INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation,
                           http_status, outcome, denial_reason, conversation_id, contact_id)
SELECT organization_id, created_at, request_id, api_key_id, operation, http_status, outcome,
       denial_reason, conversation_id, contact_id
  FROM unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::uuid[], $5::text[],
              $6::smallint[], $7::text[], $8::text[], $9::uuid[], $10::uuid[])
       AS entry (organization_id, created_at, request_id, api_key_id, operation,
                 http_status, outcome, denial_reason, conversation_id, contact_id)
 WHERE (SELECT cell.admit($1) FROM cell.moves LIMIT 1) IS NOT FALSE
    ON CONFLICT DO NOTHING
RETURNING request_id
