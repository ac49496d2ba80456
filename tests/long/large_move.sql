-- Adds two rows for each conversation of :'organization' that growth.sql made: an audit entry dated now, and an
-- event that no endpoint subscribed to.
SET synchronous_commit = off;

CREATE PROCEDURE pg_temp.beside(organization uuid)
LANGUAGE plpgsql
AS $$
DECLARE
  ids constant uuid[] := ARRAY(SELECT id FROM conversation.conversations
                                WHERE organization_id = organization AND external_id LIKE 'order-%' ORDER BY id);
  ms bigint;
BEGIN
  FOR c IN 1 .. cardinality(ids) BY 10000 LOOP
    ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint; -- the seal reports backdated entries
    INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation, http_status,
                               outcome, conversation_id)
    SELECT organization, to_timestamp(ms / 1000.0),
           (lpad(to_hex(ms), 12, '0') || '7' || substr(md5(id::text), 1, 3) || '8' || substr(md5(id::text), 4, 15))::uuid,
           organization, 'conversation.create', 201, 'allowed', id
      FROM unnest(ids[c : c + 9999]) AS id;
    INSERT INTO webhook.events (organization_id, id, type, data, created_at, dispatched)
    SELECT organization, id, 'conversation.created', jsonb_build_object('id', id), to_timestamp(ms / 1000.0), true
      FROM unnest(ids[c : c + 9999]) AS id;
    COMMIT;
  END LOOP;
END
$$;

CALL pg_temp.beside(:'organization');
