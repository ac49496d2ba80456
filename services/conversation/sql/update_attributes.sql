-- Merges custom attributes into conversations; a null removes its key. Returns one row for each
-- request, in their order: whether the conversation was changed, and the conversation as it is
-- then, NULL if there is none. If is_raced is true, another transaction is changing it: run this
-- again. A conversation that is neither changed nor raced would have too many keys.
--
-- Arrays with one element for each, no two for one conversation:
--   1 organization  2 id  3 JSON object with custom_attributes
-- and
--   4 maximum number of keys
--
-- The lock is taken first, so the row that is merged and checked is the row that is changed. The
-- update finds it by the ctid that was locked: if the row has a version newer than this statement's
-- snapshot, the update misses it, and the row counts as raced. All lookups can only be planned by
-- key.
-- columns: is_changed is_raced conversation.*
WITH held AS MATERIALIZED (
  SELECT a.n, a.organization_id, a.id AS asked_id, v.place, v.id, v.external_id, v.contact_id,
         v.created_at, v.last_message_at, v.channel, v.status, v.message_count,
         greatest(clock_timestamp(), v.updated_at + interval '1 microsecond') AS updated_at,
         jsonb_strip_nulls(v.custom_attributes || (a.body -> 'custom_attributes'))
           AS custom_attributes
    FROM unnest($1::uuid[], $2::uuid[], $3::jsonb[])
         WITH ORDINALITY AS a (organization_id, id, body, n)
    LEFT JOIN LATERAL (
      SELECT ctid AS place, *
        FROM conversation.conversations
       WHERE organization_id = a.organization_id AND id = a.id AND deleted_at IS NULL
         FOR NO KEY UPDATE SKIP LOCKED) AS v ON true
), checked AS MATERIALIZED (
  SELECT *, (SELECT count(*) FROM jsonb_object_keys(custom_attributes)) <= $4::int AS fits
    FROM held
), changed AS (
  UPDATE conversation.conversations AS v
     SET custom_attributes = checked.custom_attributes, updated_at = checked.updated_at
    FROM checked
   WHERE v.ctid = checked.place AND fits
  RETURNING n
)
SELECT changed.n IS NOT NULL AS is_changed,
       changed.n IS NULL AND fits
         AND (v.id IS NOT NULL OR EXISTS (
               SELECT FROM conversation.conversations AS there
                WHERE there.organization_id = v.organization_id AND there.id = asked_id
                  AND deleted_at IS NULL)) AS is_raced,
       v.id, v.external_id, floor(date_part('epoch', v.created_at))::bigint AS created_at,
       floor(date_part('epoch', v.updated_at))::bigint AS updated_at,
       floor(date_part('epoch', v.last_message_at))::bigint AS last_message_at,
       v.channel, v.status, v.custom_attributes, v.message_count,
       k.id AS contact_id, k.external_id AS contact_external_id, k.name AS contact_name,
       k.email AS contact_email, k.phone AS contact_phone
  FROM checked AS v
  LEFT JOIN changed ON changed.n = v.n
  LEFT JOIN LATERAL (
    SELECT id, external_id, name, email, phone
      FROM conversation.contacts
     WHERE organization_id = v.organization_id AND id = v.contact_id AND erased_at IS NULL
    OFFSET 0) AS k ON true
 ORDER BY v.n
