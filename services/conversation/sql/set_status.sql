-- Moves a conversation to a status if the current status allows that. Returns one row: the status
-- before, whether it was moved, and the conversation as it is now. If these are NULL, is_locked
-- tells whether the conversation exists but another transaction is changing it: run this again.
--
--   1 organization  2 id  3 status  4 array of the statuses it may have before  5 id of the event
--
-- The lock is taken first, so the row that is checked is the row that is changed.
-- columns: is_locked was is_moved conversation.*
WITH held AS MATERIALIZED (
  SELECT id, external_id, contact_id, created_at, updated_at, last_message_at, channel, status,
         custom_attributes, message_count
    FROM conversation.conversations
   WHERE organization_id = $1::uuid AND id = $2::uuid AND deleted_at IS NULL
     FOR NO KEY UPDATE SKIP LOCKED
), changed AS (
  UPDATE conversation.conversations
     SET status = $3::text,
         updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
   WHERE organization_id = $1 AND id = (SELECT id FROM held WHERE status = ANY ($4::text[]))
  RETURNING id, channel, status, updated_at
), announced AS (
  INSERT INTO webhook.events (organization_id, id, type, data, created_at)
  SELECT $1, $5::uuid, 'ai.handoff',
         jsonb_build_object('id', id, 'channel', channel, 'status', status), updated_at
    FROM changed
   WHERE status = 'human_takeover'
)
SELECT v.id IS NULL AND EXISTS (
         SELECT FROM conversation.conversations
          WHERE organization_id = $1 AND id = $2 AND deleted_at IS NULL) AS is_locked,
       v.status AS was, changed.id IS NOT NULL AS is_moved,
       v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint AS created_at,
       floor(date_part('epoch', coalesce(changed.updated_at, v.updated_at)))::bigint AS updated_at,
       floor(date_part('epoch', v.last_message_at))::bigint AS last_message_at,
       v.channel, coalesce(changed.status, v.status) AS status, v.custom_attributes, v.message_count,
       k.id AS contact_id, k.external_id AS contact_external_id, k.name AS contact_name,
       k.email AS contact_email, k.phone AS contact_phone
  FROM (SELECT) AS always
  LEFT JOIN held v ON true
  LEFT JOIN changed ON true
  LEFT JOIN conversation.contacts k
    ON k.organization_id = $1 AND k.id = (SELECT contact_id FROM held) AND k.erased_at IS NULL
