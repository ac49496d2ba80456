-- The next entries of an organization's trail, oldest first, from behind a place in it; columns as
-- enum entry_column.
--   $1 organization   $2 $3 the place: Unix milliseconds and request id
--   $4 older than this, Unix milliseconds   $5 rows at most
-- The first comparison with created_at says nothing new; it lets earlier months be skipped.
SELECT request_id,
       api_key_id,
       operation,
       http_status,
       outcome,
       denial_reason,
       conversation_id,
       contact_id,
       floor(extract(epoch FROM created_at))::bigint AS created_at_s
  FROM audit.entries
 WHERE organization_id = $1::uuid
   AND created_at >= to_timestamp($2::bigint / 1000.0)
   AND (created_at, request_id) > (to_timestamp($2::bigint / 1000.0), $3::uuid)
   AND created_at < to_timestamp($4::bigint / 1000.0)
 ORDER BY created_at, request_id
 LIMIT $5::bigint
