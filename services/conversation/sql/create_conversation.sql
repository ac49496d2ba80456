-- Creates a conversation of the API, and its contact, if the rules allow it; else writes nothing.
-- Either way the one row that comes back tells what was found (services/conversation/create.c).
--
--   1 organization  2 external id
--   3 external id of the contact, or 4 its id (the other one is NULL)
--   5 its name  6 email  7 phone (NULL: keep what is stored)
--   8 JSON object with custom_attributes (NULL: none)
--   9 id of the new conversation  10 of the new contact  11 of the event
--
-- The conversation is written first: where a neighbour has just taken its external id, the INSERT
-- waits for the neighbour's commit and then does nothing, and what depends on it does nothing
-- either. A contact, email or phone that a neighbour has just taken raises a unique violation.
-- A contact that is being erased meanwhile keeps the conversation but takes no profile: as if it
-- had been erased a moment later.
--
-- Keys are looked up by base conditions and scalar subqueries, not by joins: that leaves the
-- planner one index to take, whatever the tables looked like when the statement was prepared.
WITH found AS MATERIALIZED (
  SELECT v.id, v.contact_id, v.created_at, v.updated_at, v.last_message_at, v.channel, v.status,
         v.custom_attributes, v.message_count, v.deleted_at,
         k.id AS named_id, k.external_id AS named_external_id, k.name, k.email, k.phone,
         (SELECT erased_at FROM conversation.contacts
           WHERE organization_id = $1 AND id = v.contact_id) AS erased_at,
         (SELECT id FROM conversation.contacts
           WHERE organization_id = $1 AND email = $6::text
             AND id IS DISTINCT FROM k.id) AS email_owner,
         (SELECT id FROM conversation.contacts
           WHERE organization_id = $1 AND phone = $7::text
             AND id IS DISTINCT FROM k.id) AS phone_owner
    FROM (SELECT) AS always
    LEFT JOIN conversation.conversations v
      ON v.organization_id = $1::uuid AND v.external_id = $2::text
    -- The contact that the caller names, whether the conversation is there or not.
    LEFT JOIN conversation.contacts k
      ON k.organization_id = $1 AND k.erased_at IS NULL
     AND k.id = coalesce($4::uuid, (SELECT id FROM conversation.contacts
                                     WHERE organization_id = $1 AND external_id = $3::text))
), made AS (
  INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, channel,
                                          status, custom_attributes, created_at, updated_at)
  SELECT $1, $9::uuid, $2, coalesce(named_id, $10::uuid), 'api', 'active',
         coalesce(jsonb_strip_nulls($8::jsonb -> 'custom_attributes'), '{}'), now(), now()
    FROM found
   WHERE id IS NULL AND (named_id IS NOT NULL OR $3 IS NOT NULL)
     AND email_owner IS NULL AND phone_owner IS NULL
  ON CONFLICT (organization_id, external_id) WHERE external_id IS NOT NULL DO NOTHING
  RETURNING id, contact_id, channel, status, custom_attributes, created_at
), written_contact AS (
  INSERT INTO conversation.contacts AS k (organization_id, id, external_id, name, email, phone,
                                          created_at)
  SELECT $1, made.contact_id, $3, $5::text, $6, $7, made.created_at
    FROM made, found
   WHERE named_id IS NULL
      OR name IS DISTINCT FROM coalesce($5, name)
      OR email IS DISTINCT FROM coalesce($6, email)
      OR phone IS DISTINCT FROM coalesce($7, phone)
  ON CONFLICT (organization_id, id) DO UPDATE
     SET name = coalesce(excluded.name, k.name), email = coalesce(excluded.email, k.email),
         phone = coalesce(excluded.phone, k.phone)
   WHERE k.erased_at IS NULL
), announced AS (
  INSERT INTO webhook.events (organization_id, id, type, data, created_at)
  SELECT $1, $11::uuid, 'conversation.created',
         jsonb_build_object('id', id, 'channel', channel, 'status', status), created_at
    FROM made
)
SELECT found.deleted_at IS NOT NULL, found.erased_at IS NOT NULL, found.contact_id,
       found.email_owner, found.phone_owner,
       floor(date_part('epoch', made.created_at))::bigint, made.custom_attributes,
       -- what exists already, in the order of common/resource/conversation_json.h
       found.id, $2, floor(date_part('epoch', found.created_at))::bigint,
       floor(date_part('epoch', found.updated_at))::bigint,
       floor(date_part('epoch', found.last_message_at))::bigint,
       found.channel, found.status, found.custom_attributes, found.message_count,
       found.named_id, found.named_external_id, found.name, found.email, found.phone
  FROM found LEFT JOIN made ON true
