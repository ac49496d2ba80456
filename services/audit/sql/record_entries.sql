-- Appends entries to the trail, one array for each column: enum trail_column in trail.h. An entry
-- that is there already stays as it is.
INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation,
                           http_status, outcome, denial_reason, conversation_id, contact_id)
SELECT organization_id, to_timestamp(created_ms / 1000.0), request_id, api_key_id, operation,
       http_status, outcome, denial_reason, conversation_id, contact_id
  FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::uuid[], $5::text[],
              $6::smallint[], $7::text[], $8::text[], $9::uuid[], $10::uuid[])
       AS entry (organization_id, created_ms, request_id, api_key_id, operation,
                 http_status, outcome, denial_reason, conversation_id, contact_id)
    ON CONFLICT DO NOTHING
