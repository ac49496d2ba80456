-- One page of an organization's trail, newest first, from behind a place in it; columns as enum
-- entry_column, and is_limit.
--   $1 organization   $2 $3 the place: Unix milliseconds and request id
--   $4 not older than this, Unix milliseconds   $5 rows at most
--   $6 operation   $7 outcome   $8 API key   $9 conversation: NULL = any
--   $10 entries that are looked at, at most
-- Filters have no index of their own, which every append would pay for: what matches seldom must
-- not cost a walk through the whole trail. Where the page is not full after $10 entries, the last of
-- those comes in addition, with is_limit, whether it matches or not: there the next page begins. It
-- is only looked for then, since an Append runs its parts one after the other.
-- The first comparison with created_at says nothing new; it lets months that come later be skipped.
SELECT request_id, api_key_id, operation, http_status, outcome, denial_reason, conversation_id,
       contact_id, floor(extract(epoch FROM created_at))::bigint AS created_at_s, is_limit
  FROM (SELECT near.*, false AS is_limit
          FROM (SELECT request_id, api_key_id, operation, http_status, outcome, denial_reason,
                       conversation_id, contact_id, created_at
                  FROM audit.entries
                 WHERE organization_id = $1::uuid
                   AND created_at <= to_timestamp($2::bigint / 1000.0)
                   AND (created_at, request_id) < (to_timestamp($2::bigint / 1000.0), $3::uuid)
                   AND created_at >= to_timestamp($4::bigint / 1000.0)
                 ORDER BY created_at DESC, request_id DESC
                 LIMIT $10::bigint) AS near
         WHERE ($6::text IS NULL OR operation = $6::text)
           AND ($7::text IS NULL OR outcome = $7::text)
           AND ($8::uuid IS NULL OR api_key_id = $8::uuid)
           AND ($9::uuid IS NULL OR conversation_id = $9::uuid)
         UNION ALL
        (SELECT request_id, api_key_id, operation, http_status, outcome, denial_reason,
                conversation_id, contact_id, created_at, true
           FROM audit.entries
          WHERE organization_id = $1::uuid
            AND created_at <= to_timestamp($2::bigint / 1000.0)
            AND (created_at, request_id) < (to_timestamp($2::bigint / 1000.0), $3::uuid)
            AND created_at >= to_timestamp($4::bigint / 1000.0)
          ORDER BY created_at DESC, request_id DESC
         OFFSET $10::bigint - 1 LIMIT 1)) AS page
 LIMIT $5::bigint
