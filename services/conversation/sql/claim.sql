-- Claims, for the rest of the transaction, the unique values that requests would insert: the
-- external id of a conversation, the external id of a contact that does not exist yet, and an email
-- and a phone that the contact does not have yet. Nothing waits: a request that finds a value
-- claimed by another transaction gets 0, claims no further values and is run again. (Claims are
-- taken in a fixed order of kinds, so one of several overlapping requests gets everything it
-- needs.)
--
-- Arrays with one element for each request; NULL if it has no such value:
--   1 organization  2 external id of the conversation
--   3 external id of the contact, or 4 its id  5 its email  6 its phone
--
-- The result is the setting conversation.claims, local to the transaction, which the next statement
-- reads: an array with a number for each request, 0 if a claim failed, else the sum of
--   1  (always)  2 the contact is new  4 its email is new  8 its phone is new
-- The statement that writes requires claims for all that it finds to be new (`needs` there). It is
-- a separate statement because only a snapshot taken after the claim shows everything that an
-- earlier claimant has committed.
--
-- A lock key is two numbers: a hash of the organization, different for each kind, and a hash of the
-- text. Nothing else in the database takes advisory locks with two numbers. Two texts with the same
-- hash cost the second request a retry.
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
