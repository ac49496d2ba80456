-- One page of an organization's conversations, newest first.
--   1 organization  2 the last conversation looked at for the page before (NULL: this is the first page)
--   3 maximum number of rows  4 maximum number of conversations looked at
--   5 status as clients see it  6 channel  (NULL: any)
--   7 8 9 the contact's id, external id and email; the first that exists counts  (NULL: no such filter)
--  10 which index to read: contact, status, channel or all
-- Returns the columns of a conversation; whether it matches; whether it is the $4th that was looked
-- at; and how many were looked at up to here. The last conversation looked at is returned even if
-- it does not match: if is_limit is true, the next page begins after it.
--
-- Ids are UUIDv7, so an index that ends with the id yields the newest first. $10 selects one of the
-- four branches; the others return at once. Filters that the chosen index does not cover may seldom
-- match: hence the bound $4. The primary key (`all`) also visits deleted conversations.
-- columns: conversation.* matches is_limit looked_at
WITH contact AS MATERIALIZED (
  (SELECT id FROM conversation.contacts
    WHERE organization_id = $1::uuid AND id = $7::uuid AND erased_at IS NULL
    UNION ALL
   SELECT id FROM conversation.contacts WHERE organization_id = $1 AND external_id = $8::text
    UNION ALL
   SELECT id FROM conversation.contacts WHERE organization_id = $1 AND email = $9::text)
  LIMIT 1
), near AS NOT MATERIALIZED (
  (SELECT *
     FROM conversation.conversations
    WHERE organization_id = $1 AND contact_id = (SELECT id FROM contact) AND deleted_at IS NULL
      AND (created_at, id) <
          (coalesce((SELECT created_at FROM conversation.conversations
                      WHERE organization_id = $1 AND id = $2::uuid), 'infinity'),
           coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff')) AND $10::text = 'contact'
    ORDER BY created_at DESC, id DESC)
   UNION ALL
  (SELECT *
     FROM conversation.conversations
    WHERE organization_id = $1 AND status <> 'active' AND deleted_at IS NULL
      AND CASE status WHEN 'closed' THEN 'resolved' ELSE status END = $5::text
      AND id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AND $10 = 'status'
    ORDER BY id DESC)
   UNION ALL
  (SELECT *
     FROM conversation.conversations
    WHERE organization_id = $1 AND channel <> 'api' AND deleted_at IS NULL AND channel = $6::text
      AND id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AND $10 = 'channel'
    ORDER BY id DESC)
   UNION ALL
  (SELECT *
     FROM conversation.conversations
    WHERE organization_id = $1
      AND id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff') AND $10 = 'all'
    ORDER BY id DESC)
), page AS NOT MATERIALIZED (
  SELECT *
    FROM (SELECT *, row_number() OVER () AS place, lead(false, 1, true) OVER () AS is_last,
                 deleted_at IS NULL
                   AND ($5 IS NULL
                        OR CASE status WHEN 'closed' THEN 'resolved' ELSE status END = $5)
                   AND ($6 IS NULL OR channel = $6) AS matches
            FROM (SELECT * FROM near LIMIT $4::bigint) AS near) AS looked_at
   WHERE matches OR is_last
   LIMIT $3::bigint
)
SELECT v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint AS created_at,
       floor(date_part('epoch', v.updated_at))::bigint AS updated_at,
       floor(date_part('epoch', v.last_message_at))::bigint AS last_message_at,
       v.channel, v.status, v.custom_attributes, v.message_count,
       k.id AS contact_id, k.external_id AS contact_external_id, k.name AS contact_name,
       k.email AS contact_email, k.phone AS contact_phone,
       v.matches, v.place = $4 AS is_limit, v.place AS looked_at
  FROM page AS v
  LEFT JOIN LATERAL (
    SELECT id, external_id, name, email, phone
      FROM conversation.contacts
     WHERE organization_id = $1 AND id = v.contact_id AND erased_at IS NULL
    OFFSET 0) AS k ON true
