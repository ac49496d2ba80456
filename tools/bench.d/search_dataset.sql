-- A data set for measuring search: one organization with 1,000,000 conversations of 10,000 contacts, 100 each, and
-- one more contact with 100,000. Run it as administrator of a migrated database that does not have it yet:
--
--     PGOPTIONS='-c bench.organization_id=UUID' psql "$DATABASE_URL" -f tools/bench.d/search_dataset.sql
--
-- External ids of the contacts: bench-0 to bench-9999, and bench-large. Conversations are inserted in the order of
-- their time, contacts taking turns, so that adjacent rows of the table are of different contacts: as in production.
BEGIN;

INSERT INTO conversation.contacts (organization_id, id, external_id, name, email, created_at)
SELECT current_setting('bench.organization_id')::uuid,
       ('01900000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid,
       CASE WHEN i < 10000 THEN 'bench-' || i ELSE 'bench-large' END,
       'Contact ' || i, 'contact-' || i || '@bench.example', to_timestamp(1700000000)
  FROM generate_series(0, 10000) AS i;

-- Of every 11 conversations the last one is the large contact's.
INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, channel,
                                        status, custom_attributes, created_at, updated_at)
SELECT current_setting('bench.organization_id')::uuid,
       ('01900000-0000-7000-9000-' || lpad(to_hex(i), 12, '0'))::uuid,
       'bench-' || i,
       ('01900000-0000-7000-8000-' ||
        lpad(to_hex(CASE WHEN i % 11 = 10 THEN 10000 ELSE (i - i / 11) % 10000 END), 12, '0'))::uuid,
       'api',
       (ARRAY['active', 'waiting', 'human_takeover', 'resolved', 'archived'])[1 + i / 7 % 5],
       jsonb_build_object('plan', (ARRAY['free', 'pro'])[1 + i / 3 % 2], 'seats', i % 50),
       to_timestamp(1700000000 + i * 20.000001), to_timestamp(1700000000 + i * 20.000001)
  FROM generate_series(0, 1099999) AS i
 ORDER BY i;

COMMIT;

VACUUM (ANALYZE) conversation.contacts;
VACUUM (ANALYZE) conversation.conversations;
-- Pending writes of the load must not be part of the measurement.
CHECKPOINT;
