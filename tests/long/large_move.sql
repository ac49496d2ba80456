-- Adds rows for each conversation of :'organization' that growth.sql made: :entries audit entries dated now and :events
-- events, which no endpoint subscribed to. The first of each are of the conversation's creation.
SET synchronous_commit = off;

-- A UUIDv7 of that time.
CREATE FUNCTION pg_temp.uuid_of(ms bigint, hash text) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN (lpad(to_hex(ms), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid;

CREATE PROCEDURE pg_temp.beside(organization uuid, entries integer, events integer)
LANGUAGE plpgsql
AS $$
DECLARE
  ids uuid[];
  last uuid := '00000000-0000-0000-0000-000000000000';
  ms bigint;
BEGIN
  LOOP
    ids := ARRAY(SELECT id FROM conversation.conversations
                  WHERE organization_id = organization AND id > last AND external_id LIKE 'order-%'
                  ORDER BY id LIMIT 10000);
    EXIT WHEN ids = '{}';
    last := ids[cardinality(ids)];
    ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint; -- the seal reports backdated entries
    INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation, http_status,
                               outcome, conversation_id)
    SELECT organization, to_timestamp(ms / 1000.0), pg_temp.uuid_of(ms, md5(id::text || n)), organization,
           CASE n WHEN 1 THEN 'conversation.create' ELSE 'conversation.get' END,
           CASE n WHEN 1 THEN 201 ELSE 200 END, 'allowed', id
      FROM unnest(ids) AS id, generate_series(1, entries) AS n;
    INSERT INTO webhook.events (organization_id, id, type, data, created_at, dispatched)
    SELECT organization, pg_temp.uuid_of(ms, md5(id::text || n)),
           CASE n WHEN 1 THEN 'conversation.created' ELSE 'filled' END, jsonb_build_object('filled', id),
           to_timestamp(ms / 1000.0), true
      FROM unnest(ids) AS id, generate_series(1, events) AS n;
    COMMIT;
  END LOOP;
END
$$;

CALL pg_temp.beside(:'organization', :entries, :events);
