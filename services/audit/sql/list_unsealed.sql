-- Settled entries behind a place, in the order of sealing; columns as enum chain_field.
--   $1 $2 $3 the place: transaction, organization, request   $4 the horizon   $5 rows at most
SELECT organization_id,
       request_id,
       CASE WHEN isfinite(created_at) THEN (extract(epoch FROM created_at) * 1000000)::bigint END
         AS created_us,
       api_key_id,
       operation,
       http_status,
       outcome,
       denial_reason,
       conversation_id,
       contact_id,
       xid
  FROM audit.entries
 WHERE (xid, organization_id, request_id) > ($1::xid8, $2::uuid, $3::uuid)
   AND xid < $4::xid8
 ORDER BY xid, organization_id, request_id
 LIMIT $5::bigint
