-- Records a conversation of a channel other than the API, with its contact if one is named. Returns
-- one row: the owner of the email, if that is another contact, or the new conversation. If both are
-- NULL, run this again.
--
--   1 organization  2 channel  3 status
--   4 external id of the contact, 5 its email (either or both may be NULL)
--   6 id of the new conversation  7 of the new contact  8 of the event
--   9 whether to announce it
--
-- The contact is found by its external id, or by its email if no external id is given; if none is
-- found, a new one is created.
--
-- It writes only what it has claimed (claim.sql, just before), and only if it gets the lock on a
-- contact whose email it sets: see create_conversations.sql.
-- columns: email_owner conversation.*
WITH found AS MATERIALIZED (
  SELECT k.id, k.external_id, k.name, k.email, k.phone,
         2 * (k.id IS NULL AND num_nonnulls($4, $5) > 0)::int
           + 4 * ($5 IS NOT NULL AND $5 IS DISTINCT FROM k.email)::int AS needs,
         (SELECT id FROM conversation.contacts
           WHERE organization_id = $1 AND email = $5::text
             AND id IS DISTINCT FROM k.id) AS email_owner
    FROM (SELECT) AS always
    LEFT JOIN conversation.contacts k
      ON k.organization_id = $1::uuid AND k.erased_at IS NULL
     AND k.id = CASE WHEN $4::text IS NULL
                     THEN (SELECT id FROM conversation.contacts
                            WHERE organization_id = $1 AND email = $5)
                     ELSE (SELECT id FROM conversation.contacts
                            WHERE organization_id = $1 AND external_id = $4) END
), made AS (
  INSERT INTO conversation.conversations (organization_id, id, contact_id, channel, status,
                                          created_at, updated_at)
  SELECT $1, $6::uuid, CASE WHEN num_nonnulls($4, $5) > 0 THEN coalesce(id, $7::uuid) END,
         $2::text, $3::text, now(), now()
    FROM found
   WHERE email_owner IS NULL
     AND (SELECT cell.admit(ARRAY[$1]) FROM cell.moves LIMIT 1) IS NOT FALSE
     AND (current_setting('conversation.claims', true)::int[])[1] & needs = needs
     AND (id IS NULL OR needs = 0
          OR (SELECT true FROM conversation.contacts c
               WHERE c.organization_id = $1 AND c.id = found.id AND c.erased_at IS NULL
                 FOR NO KEY UPDATE SKIP LOCKED))
  RETURNING id, contact_id, created_at
), written_contact AS (
  INSERT INTO conversation.contacts AS k (organization_id, id, external_id, email, created_at)
  SELECT $1, made.contact_id, $4, $5, made.created_at
    FROM made, found
   WHERE made.contact_id IS NOT NULL
     AND (found.id IS NULL OR email IS DISTINCT FROM coalesce($5, email))
  ON CONFLICT (organization_id, id) DO UPDATE SET email = excluded.email
   WHERE k.erased_at IS NULL
), announced AS (
  INSERT INTO webhook.events (organization_id, id, type, data, created_at)
  SELECT $1, $8::uuid, 'conversation.created',
         jsonb_build_object('id', id, 'channel', $2, 'status', $3), created_at
    FROM made
   WHERE $9::boolean
)
SELECT found.email_owner,
       made.id, NULL AS external_id, floor(date_part('epoch', made.created_at))::bigint AS created_at,
       floor(date_part('epoch', made.created_at))::bigint AS updated_at, NULL AS last_message_at,
       $2 AS channel, $3 AS status, '{}' AS custom_attributes, 0 AS message_count,
       made.contact_id, coalesce(found.external_id, $4) AS contact_external_id,
       found.name AS contact_name, coalesce($5, found.email) AS contact_email,
       found.phone AS contact_phone
  FROM found LEFT JOIN made ON true
