-- One page of an organization's audit log, newest first, beginning after a place.
--   $1 organization   $2 $3 the place: Unix microseconds and request id
--   $4 not older than this, Unix microseconds   $5 rows at most
--   $6 operation   $7 outcome   $8 API key   $9 conversation   (NULL = any)
--   $10 entries to look at, at most
-- Filters have no indexes, because every append would pay for them. The bound $10 keeps a filter
-- that seldom matches from walking the whole audit log. The last entry that is looked at is
-- returned even if it does not match, with the number of entries looked at. If is_limit is true, it
-- was the $10th; if the page is not full then, the next page begins after it. The first comparison
-- with created_at is redundant; it lets PostgreSQL skip later months.
-- columns: entry.* is_match is_limit looked_at
SELECT request_id, api_key_id, audit.brief(operation) AS operation, http_status,
       audit.brief(outcome) AS outcome, audit.brief(denial_reason) AS denial_reason,
       conversation_id, contact_id, (extract(epoch FROM created_at) * 1000000)::bigint AS created_us,
       is_match, is_limit, place AS looked_at
  FROM (SELECT near.*,
               ($6::text IS NULL OR operation = $6::text)
               AND ($7::text IS NULL OR outcome = $7::text)
               AND ($8::uuid IS NULL OR api_key_id = $8::uuid)
               AND ($9::uuid IS NULL OR coalesce(conversation_id = $9::uuid, false)) AS is_match,
               place = $10::bigint AS is_limit
          FROM (SELECT entry.*, row_number() OVER () AS place,
                       lead(false, 1, true) OVER () AS is_last
                  FROM (SELECT request_id, api_key_id, operation, http_status, outcome,
                               denial_reason, conversation_id, contact_id, created_at
                          FROM audit.entries
                         WHERE organization_id = $1::uuid
                           AND created_at <= audit.at($2::bigint)
                           AND (created_at, request_id) < (audit.at($2::bigint), $3::uuid)
                           AND created_at >= audit.at($4::bigint)
                         ORDER BY created_at DESC, request_id DESC
                         LIMIT $10::bigint) AS entry) AS near) AS page
 WHERE is_match OR is_last
 LIMIT $5::bigint
