-- Creates conversations of the API, and their contacts, where the rules allow it; else writes
-- nothing. For every request one row comes back, in their order, that tells what was found
-- (services/conversation/create.c). Requests for one contact in one statement name the same new id
-- for it and bring the same profile (services/conversation/create_groups.h).
--
-- Arrays with one element for each request:
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
-- OFFSET 0 keeps look-ups apart: joined, they may be planned by organization alone.
WITH asked AS MATERIALIZED (
  SELECT *
    FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[],
                $8::jsonb[], $9::uuid[], $10::uuid[], $11::uuid[])
         WITH ORDINALITY
         AS a (organization_id, external_id, contact_external_id, contact_id, name, email, phone,
               body, new_id, new_contact_id, event_id, n)
), found AS MATERIALIZED (
  SELECT a.organization_id, a.external_id, a.contact_external_id, a.name, a.email, a.phone, a.body,
         a.new_id, a.new_contact_id, a.event_id, a.n,
         v.id, v.contact_id, v.created_at, v.updated_at, v.last_message_at, v.channel, v.status,
         v.custom_attributes, v.message_count, v.deleted_at,
         k.id AS named_id, k.external_id AS named_external_id, k.name AS named_name,
         k.email AS named_email, k.phone AS named_phone,
         (SELECT erased_at FROM conversation.contacts c
           WHERE c.organization_id = a.organization_id AND c.id = v.contact_id) AS erased_at,
         (SELECT id FROM conversation.contacts c
           WHERE c.organization_id = a.organization_id AND c.email = a.email
             AND c.id IS DISTINCT FROM k.id) AS email_owner,
         (SELECT id FROM conversation.contacts c
           WHERE c.organization_id = a.organization_id AND c.phone = a.phone
             AND c.id IS DISTINCT FROM k.id) AS phone_owner
    FROM asked a
    LEFT JOIN LATERAL (
      SELECT id, contact_id, created_at, updated_at, last_message_at, channel, status,
             custom_attributes, message_count, deleted_at
        FROM conversation.conversations
       WHERE organization_id = a.organization_id AND external_id = a.external_id
      OFFSET 0) AS v ON true
    -- The contact that the caller names, whether the conversation is there or not.
    LEFT JOIN LATERAL (
      SELECT id, external_id, name, email, phone
        FROM conversation.contacts
       WHERE organization_id = a.organization_id AND erased_at IS NULL
         AND id = coalesce(a.contact_id, (
               SELECT id FROM conversation.contacts c
                WHERE c.organization_id = a.organization_id
                  AND c.external_id = a.contact_external_id))
      OFFSET 0) AS k ON true
), made AS (
  INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, channel,
                                          status, custom_attributes, created_at, updated_at)
  SELECT organization_id, new_id, external_id, coalesce(named_id, new_contact_id), 'api', 'active',
         coalesce(jsonb_strip_nulls(body -> 'custom_attributes'), '{}'), now(), now()
    FROM found
   WHERE id IS NULL AND (named_id IS NOT NULL OR contact_external_id IS NOT NULL)
     AND email_owner IS NULL AND phone_owner IS NULL
   ORDER BY n
  ON CONFLICT (organization_id, external_id) WHERE external_id IS NOT NULL DO NOTHING
  RETURNING organization_id, id, contact_id, channel, status, custom_attributes, created_at
), outcome AS MATERIALIZED (
  SELECT found.*, made.id AS made_id, made.contact_id AS made_contact_id,
         made.created_at AS made_at, made.custom_attributes AS made_attributes
    FROM found
    LEFT JOIN made ON made.id = found.new_id
), written_contact AS (
  INSERT INTO conversation.contacts AS k (organization_id, id, external_id, name, email, phone,
                                          created_at)
  SELECT organization_id, made_contact_id, contact_external_id, name, email, phone, made_at
    FROM (
      SELECT DISTINCT ON (organization_id, made_contact_id) *
        FROM outcome
       WHERE made_id IS NOT NULL
         AND (named_id IS NULL OR named_name IS DISTINCT FROM coalesce(name, named_name)
              OR named_email IS DISTINCT FROM coalesce(email, named_email)
              OR named_phone IS DISTINCT FROM coalesce(phone, named_phone))
       ORDER BY organization_id, made_contact_id, n) AS first
   ORDER BY n
  ON CONFLICT (organization_id, id) DO UPDATE
     SET name = coalesce(excluded.name, k.name), email = coalesce(excluded.email, k.email),
         phone = coalesce(excluded.phone, k.phone)
   WHERE k.erased_at IS NULL
), announced AS (
  INSERT INTO webhook.events (organization_id, id, type, data, created_at)
  SELECT organization_id, event_id, 'conversation.created',
         jsonb_build_object('id', made_id, 'channel', 'api', 'status', 'active'), made_at
    FROM outcome
   WHERE made_id IS NOT NULL
)
SELECT deleted_at IS NOT NULL, erased_at IS NOT NULL, contact_id, email_owner, phone_owner,
       floor(date_part('epoch', made_at))::bigint, made_attributes,
       -- what exists already, in the order of common/resource/conversation_json.h
       id, external_id, floor(date_part('epoch', created_at))::bigint,
       floor(date_part('epoch', updated_at))::bigint,
       floor(date_part('epoch', last_message_at))::bigint,
       channel, status, custom_attributes, message_count,
       named_id, named_external_id, named_name, named_email, named_phone
  FROM outcome
 ORDER BY n
