-- Makes :updates updates of attributes of random conversations, in transactions of 64, like the conversation service
-- under load: one statement each, which locks the row, merges and writes.
SET synchronous_commit = off;

CREATE TEMPORARY TABLE targets AS
SELECT row_number() OVER () AS n, organization_id, id
  FROM (SELECT organization_id, id FROM conversation.conversations TABLESAMPLE BERNOULLI (20)
         ORDER BY random()) AS shuffled;
CREATE UNIQUE INDEX ON targets (n);
ANALYZE targets;

CREATE PROCEDURE pg_temp.churn(updates bigint)
LANGUAGE plpgsql
AS $$
DECLARE
  many constant bigint := (SELECT max(n) FROM targets);
  target record;
BEGIN
  FOR i IN 1 .. updates LOOP
    SELECT * INTO target FROM targets WHERE n = 1 + i % many;
    WITH held AS MATERIALIZED (
      SELECT id, jsonb_strip_nulls(custom_attributes || jsonb_build_object('score', i)) AS merged
        FROM conversation.conversations
       WHERE organization_id = target.organization_id AND id = target.id AND deleted_at IS NULL
         FOR NO KEY UPDATE SKIP LOCKED)
    UPDATE conversation.conversations
       SET custom_attributes = (SELECT merged FROM held),
           updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
     WHERE organization_id = target.organization_id AND id = (SELECT id FROM held);
    IF i % 64 = 0 THEN
      COMMIT;
    END IF;
  END LOOP;
  COMMIT;
END
$$;

CALL pg_temp.churn(:updates);
