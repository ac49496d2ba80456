-- Creates conversations of the API, and their contacts. A request that the rules do not allow
-- writes nothing. Returns one row for each request, in their order, with what was found
-- (services/conversation/create.c). Requests for the same contact in one statement have the same
-- new id for it and the same profile (services/conversation/create.h).
--
-- Arrays with one element for each request:
--   1 organization  2 external id
--   3 external id of the contact, or 4 its id (the other one is NULL)
--   5 its name  6 email  7 phone (NULL: keep the stored value)
--   8 JSON object with custom_attributes (NULL: none)
--   9 id of the new conversation  10 of the new contact  11 of the event
--
-- A request writes only if it has claimed what it inserts (claim.sql, run for the same requests
-- just before) and, to change a profile, gets the lock on the contact here. So it waits for no
-- other transaction and violates no unique key. A request that changes no profile does not lock the
-- contact: if that is being erased concurrently, the conversation is created as if the erasure came
-- later.
--
-- A conversation's contact was either found, and contacts are never deleted, or is created here; no
-- foreign key enforces this. The event is written only if an endpoint wants it: an endpoint that is
-- created later gets no earlier events.
--
-- `decided` makes all decisions; the other CTEs carry them out. OFFSET 0 keeps the lookups apart:
-- as plain joins, they may be planned by organization alone.
-- columns: is_deleted is_erased its_contact_id email_owner phone_owner
-- columns: is_announced made_at made_attributes conversation.*
WITH decided AS MATERIALIZED (
  SELECT *,
         CASE WHEN is_made THEN
           coalesce(jsonb_strip_nulls(body -> 'custom_attributes'), '{}') END AS made_attributes,
         CASE WHEN is_made THEN
           (SELECT true FROM webhook.wanted_events AS e
             WHERE e.organization_id = checked.organization_id
               AND 'conversation.created' = ANY (e.events)
             LIMIT 1) END AS is_announced
    FROM (
      SELECT *,
             id IS NULL AND (named_id IS NOT NULL OR contact_external_id IS NOT NULL)
               AND email_owner IS NULL AND phone_owner IS NULL AND claimed & needs = needs
               AND (named_id IS NULL OR NOT writes_contact
                    OR (SELECT true FROM conversation.contacts c
                         WHERE c.organization_id = found.organization_id AND c.id = found.named_id
                           AND c.erased_at IS NULL
                           FOR NO KEY UPDATE SKIP LOCKED) IS TRUE) AS is_made
        FROM (
          SELECT a.organization_id, a.external_id, a.contact_external_id, a.name, a.email,
                 a.phone, a.body, a.new_id, a.new_contact_id, a.event_id, a.claimed, a.n,
                 v.*, k.*,
                 (SELECT erased_at FROM conversation.contacts c
                   WHERE c.organization_id = a.organization_id AND c.id = v.contact_id)
                   AS erased_at,
                 CASE WHEN a.email IS DISTINCT FROM k.named_email THEN
                   (SELECT id FROM conversation.contacts c
                     WHERE c.organization_id = a.organization_id AND c.email = a.email) END
                   AS email_owner,
                 CASE WHEN a.phone IS DISTINCT FROM k.named_phone THEN
                   (SELECT id FROM conversation.contacts c
                     WHERE c.organization_id = a.organization_id AND c.phone = a.phone) END
                   AS phone_owner,
                 1 + 2 * (k.named_id IS NULL)::int
                   + 4 * (a.email IS NOT NULL AND a.email IS DISTINCT FROM k.named_email)::int
                   + 8 * (a.phone IS NOT NULL AND a.phone IS DISTINCT FROM k.named_phone)::int
                   AS needs,
                 k.named_id IS NULL OR k.named_name IS DISTINCT FROM coalesce(a.name, k.named_name)
                   OR k.named_email IS DISTINCT FROM coalesce(a.email, k.named_email)
                   OR k.named_phone IS DISTINCT FROM coalesce(a.phone, k.named_phone)
                   AS writes_contact
            FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[],
                        $7::text[], $8::jsonb[], $9::uuid[], $10::uuid[], $11::uuid[],
                        current_setting('conversation.claims', true)::int[])
                 WITH ORDINALITY
                 AS a (organization_id, external_id, contact_external_id, contact_id, name, email,
                       phone, body, new_id, new_contact_id, event_id, claimed, n)
            LEFT JOIN LATERAL (
              SELECT id, contact_id, created_at, updated_at, last_message_at, channel, status,
                     custom_attributes, message_count, deleted_at
                FROM conversation.conversations
               WHERE organization_id = a.organization_id AND external_id = a.external_id
              OFFSET 0) AS v ON true
            -- The contact that the request names, whether or not the conversation exists. An erased
            -- contact has no external id.
            LEFT JOIN LATERAL (
              SELECT id AS named_id, external_id AS named_external_id, name AS named_name,
                     email AS named_email, phone AS named_phone
                FROM conversation.contacts
               WHERE organization_id = a.organization_id AND external_id = a.contact_external_id
               UNION ALL
              SELECT id, external_id, name, email, phone
                FROM conversation.contacts
               WHERE organization_id = a.organization_id AND id = a.contact_id
                 AND erased_at IS NULL
              OFFSET 0) AS k ON true
          OFFSET 0) AS found
      OFFSET 0) AS checked
), made AS (
  INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, channel,
                                          status, custom_attributes, created_at, updated_at)
  SELECT organization_id, new_id, external_id, coalesce(named_id, new_contact_id), 'api',
         'active', made_attributes, now(), now()
    FROM decided
   WHERE is_made
), written_contact AS (
  INSERT INTO conversation.contacts AS k (organization_id, id, external_id, name, email, phone,
                                          created_at)
  SELECT DISTINCT ON (organization_id, coalesce(named_id, new_contact_id))
         organization_id, coalesce(named_id, new_contact_id), contact_external_id, name, email,
         phone, now()
    FROM decided
   WHERE is_made AND writes_contact
   ORDER BY organization_id, coalesce(named_id, new_contact_id), n
  ON CONFLICT (organization_id, id) DO UPDATE
     SET name = coalesce(excluded.name, k.name), email = coalesce(excluded.email, k.email),
         phone = coalesce(excluded.phone, k.phone)
   WHERE k.erased_at IS NULL
), announced AS (
  INSERT INTO webhook.events (organization_id, id, type, data, created_at)
  SELECT organization_id, event_id, 'conversation.created',
         jsonb_build_object('id', new_id, 'channel', 'api', 'status', 'active'), now()
    FROM decided
   WHERE is_announced
)
SELECT deleted_at IS NOT NULL AS is_deleted, erased_at IS NOT NULL AS is_erased,
       contact_id AS its_contact_id, email_owner, phone_owner, is_announced,
       CASE WHEN is_made THEN floor(date_part('epoch', now()))::bigint END AS made_at,
       made_attributes,
       -- the existing conversation, if any, with the contact that the request names
       id, external_id, floor(date_part('epoch', created_at))::bigint AS created_at,
       floor(date_part('epoch', updated_at))::bigint AS updated_at,
       floor(date_part('epoch', last_message_at))::bigint AS last_message_at,
       channel, status, custom_attributes, message_count,
       named_id AS contact_id, named_external_id AS contact_external_id,
       named_name AS contact_name, named_email AS contact_email, named_phone AS contact_phone
  FROM decided
 ORDER BY n
