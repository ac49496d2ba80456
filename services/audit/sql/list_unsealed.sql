-- Settled entries behind a place, in the order of sealing.
--   $1 $2 $3 the place: transaction, organization, request   $4 the horizon   $5 rows at most
-- columns: chain.*
SELECT organization_id,
       request_id,
       audit.us(created_at) AS created_us,
       api_key_id,
       audit.brief(operation) AS operation,
       http_status,
       audit.brief(outcome) AS outcome,
       audit.brief(denial_reason) AS denial_reason,
       conversation_id,
       contact_id,
       xid
  FROM audit.entries
 WHERE (xid, organization_id, request_id) > ($1::xid8, $2::uuid, $3::uuid)
   AND xid < $4::xid8
 ORDER BY xid, organization_id, request_id
 LIMIT $5::bigint
