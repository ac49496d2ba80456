-- Claims, for the rest of the transaction, the unique values that requests would
-- insert: the external id of a conversation, that of a contact that is not there yet, an email and a
-- phone that the contact does not have yet. Nothing waits: who finds one of his claimed by a
-- other transaction ends there, with nothing, and is to be run again. (Where several claims overlap, one of
-- them gets all it wants: they are taken in one order of kinds.)
--
-- Arrays with one element for each request; NULL where there is none:
--   1 organization  2 external id of the conversation
--   3 external id of the contact, or 4 its id  5 its email  6 its phone
--
-- The outcome is a setting of the transaction, conversation.claims, for the statement that comes
-- next: an array with a number for each request, 0 where it got nothing, else the sum of
--   1  (always)  2 the contact is new  4 its email is new  8 its phone is new
-- The statement that writes needs no less than what it finds to be new (see `needs` there). It is
-- another one because only a snapshot that is taken after the claim shows all that an earlier
-- claimant has left.
--
-- A key is two numbers, one of organization and kind and one of the text. Nothing else in the
-- database takes advisory locks of two numbers. Two texts with one number cost the second a retry.
-- columns: claims
SELECT set_config('conversation.claims', coalesce(array_agg(claimed ORDER BY n), '{}')::text, true)
         AS claims
  FROM (
    SELECT n,
           CASE WHEN NOT pg_try_advisory_xact_lock(whose, hashtext(external_id)) THEN 0
                WHEN needs & 2 <> 0
                     AND NOT pg_try_advisory_xact_lock(whose # 1, hashtext(contact_external_id))
                THEN 0
                WHEN needs & 4 <> 0 AND NOT pg_try_advisory_xact_lock(whose # 2, hashtext(email))
                THEN 0
                WHEN needs & 8 <> 0 AND NOT pg_try_advisory_xact_lock(whose # 3, hashtext(phone))
                THEN 0
                ELSE needs END AS claimed
      FROM (
        SELECT a.n, a.external_id, a.contact_external_id, a.email, a.phone,
               uuid_hash(a.organization_id) AS whose,
               1 + 2 * (k.id IS NULL)::int
                 + 4 * (a.email IS NOT NULL AND a.email IS DISTINCT FROM k.email)::int
                 + 8 * (a.phone IS NOT NULL AND a.phone IS DISTINCT FROM k.phone)::int AS needs
          FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[])
               WITH ORDINALITY
               AS a (organization_id, external_id, contact_external_id, contact_id, email, phone, n)
          LEFT JOIN LATERAL (
            SELECT id, email, phone
              FROM conversation.contacts
             WHERE organization_id = a.organization_id AND external_id = a.contact_external_id
             UNION ALL
            SELECT id, email, phone
              FROM conversation.contacts
             WHERE organization_id = a.organization_id AND id = a.contact_id
               AND erased_at IS NULL
            OFFSET 0) AS k ON true
        OFFSET 0) AS asked) AS tried
