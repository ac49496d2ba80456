-- Fills the audit log up to :entries entries, in transactions of 1,000, half of them for organization :'organization'
-- and half for nineteen others; dated now, as the seal requires.
SET synchronous_commit = off;

CREATE PROCEDURE pg_temp.fill(organization uuid, entries bigint)
LANGUAGE plpgsql
AS $$
DECLARE
  there bigint := (SELECT count(*) FROM audit.entries);
  ms bigint;
BEGIN
  WHILE there < entries LOOP
    ms := (extract(epoch FROM clock_timestamp()) * 1000)::bigint;
    INSERT INTO audit.entries (organization_id, created_at, request_id, api_key_id, operation,
                               http_status, outcome, conversation_id, contact_id)
    SELECT CASE WHEN n % 2 = 0 THEN organization
                ELSE ('01920000-0000-7000-8000-0000000000' || lpad((n % 19)::text, 2, '0'))::uuid END,
           to_timestamp(ms / 1000.0),
           (lpad(to_hex(ms), 12, '0') || '7' || right(md5(there::text || n::text), 19))::uuid,
           organization, 'conversation.create', 201, 'allowed', gen_random_uuid(), gen_random_uuid()
      FROM generate_series(1, 1000) AS n;
    there := there + 1000;
    COMMIT;
  END LOOP;
END
$$;

CALL pg_temp.fill(:'organization', :entries);
