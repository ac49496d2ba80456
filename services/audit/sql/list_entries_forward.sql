-- The next entries of an organization's audit log, oldest first, beginning after a place.
--   $1 organization   $2 $3 the place: Unix microseconds and request id
--   $4 older than this, Unix microseconds   $5 rows at most
-- The first comparison with created_at is redundant; it lets PostgreSQL skip earlier months.
-- columns: entry.*
SELECT request_id,
       api_key_id,
       audit.brief(operation) AS operation,
       http_status,
       audit.brief(outcome) AS outcome,
       audit.brief(denial_reason) AS denial_reason,
       conversation_id,
       contact_id,
       (extract(epoch FROM created_at) * 1000000)::bigint AS created_us
  FROM audit.entries
 WHERE organization_id = $1::uuid
   AND created_at >= audit.at($2::bigint)
   AND (created_at, request_id) > (audit.at($2::bigint), $3::uuid)
   AND created_at < audit.at($4::bigint)
 ORDER BY created_at, request_id
 LIMIT $5::bigint
