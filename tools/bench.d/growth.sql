-- Fills a migrated database with :rows conversations of the organizations in :'organizations', 100 for each contact
-- (if :part is conversations), or with as many audit entries (entries). Rows are inserted in the order of their time,
-- organizations and contacts taking turns, with all indexes in place: as tables grow in production.
SET synchronous_commit = off;

CREATE FUNCTION pg_temp.id(ms bigint, random text) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex(ms), 12, '0') || '7' || left(random, 3) || '8' || substr(random, 4, 15))::uuid;

CREATE FUNCTION pg_temp.contact_id(organization uuid, n bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN pg_temp.id(1700000000000 + n, md5(organization::text || n));

CREATE PROCEDURE pg_temp.conversations(organizations uuid[], many bigint)
LANGUAGE plpgsql
AS $$
DECLARE
  n constant integer := cardinality(organizations);
  contacts constant bigint := many / n / 100; -- of an organization
  step constant float8 := 90 * 86400000.0 / many; -- milliseconds: 90 days in all
  start constant bigint := (extract(epoch FROM now()) * 1000)::bigint - 91 * 86400000::bigint;
BEGIN
  FOR c IN 0 .. contacts - 1 BY 1000 LOOP
    INSERT INTO conversation.contacts (organization_id, id, external_id, name, email, created_at)
    SELECT o, pg_temp.contact_id(o, i), 'user-' || i, 'Contact ' || i, i || '@bench.example',
           to_timestamp(1700000000 + i / 1000.0)
      FROM generate_series(c, least(c + 1000, contacts) - 1) AS i, unnest(organizations) AS o;
    COMMIT;
  END LOOP;
  FOR c IN 0 .. many - 1 BY 50000 LOOP
    INSERT INTO conversation.conversations (organization_id, id, external_id, contact_id, channel, status,
                                            custom_attributes, created_at, updated_at)
    SELECT o, pg_temp.id((extract(epoch FROM at) * 1000)::bigint, md5(i::text)), 'order-' || i,
           pg_temp.contact_id(o, i / n % contacts), 'api', 'active',
           jsonb_build_object('plan', (ARRAY['free', 'pro'])[1 + i / n / contacts % 2], 'seats', i % 50,
                              'beta', i % 3 = 0, 'region', 'region-' || i % 20, 'score', i % 1000000),
           at, at
      FROM (SELECT i, organizations[1 + i % n] AS o, to_timestamp((start + i * step) / 1000) AS at
              FROM generate_series(c, least(c + 50000, many) - 1) AS i) AS each;
    COMMIT;
  END LOOP;
END
$$;

CREATE PROCEDURE pg_temp.entries(organizations uuid[], many bigint)
LANGUAGE plpgsql
AS $$
DECLARE
  n constant integer := cardinality(organizations);
  ms bigint;
BEGIN
  FOR c IN 0 .. many - 1 BY 10000 LOOP
    ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint; -- only recent entries are sealed
    INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation, http_status,
                               outcome, conversation_id, contact_id)
    SELECT organizations[1 + i % n], to_timestamp(ms / 1000.0), pg_temp.id(ms, md5('entry ' || i)),
           organizations[1 + i % n], 'conversation.create', 201, 'allowed', gen_random_uuid(),
           gen_random_uuid()
      FROM generate_series(c, least(c + 10000, many) - 1) AS i;
    COMMIT;
  END LOOP;
END
$$;

CALL pg_temp.:part(:'organizations', :rows);
