-- Settled entries after a place, in the order of sealing, of organizations that this cell serves.
--   $1 $2 $3 the place: transaction, organization, request   $4 the horizon   $5 rows at most
-- The service asks for the rows in binary and writes the texts that chain.* has elsewhere itself:
-- formatting a time and several ids would cost the server more than all else here.
-- columns: organization_id request_id created_at api_key_id operation http_status outcome denial_reason
-- columns: conversation_id contact_id xid
SELECT organization_id,
       request_id,
       created_at,
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
   AND organization_id NOT IN (SELECT organization_id FROM cell.moves WHERE state <> 'leaving')
 ORDER BY xid, organization_id, request_id
 LIMIT $5::bigint
