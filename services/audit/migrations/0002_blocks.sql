-- The seal: blocks of entries, each of which holds the hash of the one before it, one chain for each
-- organization. docs/audit.md describes it.

-- Which transaction wrote an entry. Everything below the oldest transaction that still runs is
-- settled: no entry can turn up there any more, however long its commit took. Sealing goes by that
-- and not by created_at, behind which entries do turn up. What was there before this migration gets
-- the migration's own number.
ALTER TABLE audit.entries ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id();

-- The order of sealing. Appends go to the right-most page.
CREATE INDEX entries_by_xid ON audit.entries (xid, organization_id, request_id);

-- Who appends does not get to say which transaction it is.
DO $$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['conv_audit', 'conv_conversation', 'conv_search'] LOOP
    EXECUTE format('REVOKE INSERT ON audit.entries FROM %I', service);
    EXECUTE format('GRANT INSERT (organization_id, created_at, request_id, api_key_id, operation,
                                  http_status, outcome, denial_reason, conversation_id, contact_id)
                       ON audit.entries TO %I', service);
  END LOOP;
END
$$;

-- The time inside a UUIDv7, which is created_at of the entry that it names.
CREATE FUNCTION audit.time_of(request_id uuid) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN to_timestamp(('x' || translate(left(request_id::text, 13), '-', ''))::bit(48)::bigint / 1000.0);

CREATE TABLE audit.blocks (
  organization_id uuid        NOT NULL,
  number          bigint      NOT NULL CHECK (number > 0),
  previous_hash   bytea       NOT NULL,
  entries         bigint      NOT NULL, -- in the chain up to and with this block
  last_xid        xid8        NOT NULL, -- the place of its last entry in the order of sealing
  last_request_id uuid        NOT NULL,
  made_xid        xid8        NOT NULL, -- of the transaction that made it: what is greater came later
  made_at         timestamptz NOT NULL,
  request_ids     uuid[]      NOT NULL, -- what is in it, in the order of sealing
  entry_hashes    bytea       NOT NULL, -- 32 bytes each, in the same order
  block_hash      bytea       NOT NULL,
  key_id          text        NOT NULL,
  signature       bytea       NOT NULL,
  PRIMARY KEY (organization_id, number)
);
-- Random bytes: trying to compress them is in vain.
ALTER TABLE audit.blocks ALTER COLUMN request_ids SET STORAGE EXTERNAL,
                         ALTER COLUMN entry_hashes SET STORAGE EXTERNAL;
-- Its last row is how far everything is sealed.
CREATE INDEX blocks_by_xid ON audit.blocks (last_xid, organization_id, last_request_id);
-- Which block an entry must be in.
CREATE UNIQUE INDEX blocks_of_organization
    ON audit.blocks (organization_id, last_xid, last_request_id);

-- The heads that have been published: blocks that were the last of their chain at some minute.
CREATE TABLE audit.heads (
  organization_id uuid        NOT NULL,
  number          bigint      NOT NULL,
  last_xid        xid8        NOT NULL,
  block_hash      bytea       NOT NULL,
  published_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (organization_id, number)
);
CREATE INDEX heads_by_xid ON audit.heads (last_xid);

GRANT SELECT, INSERT ON audit.blocks, audit.heads TO conv_audit;

-- Locked by the process that seals, until its transaction ends. Who has no right to change the table cannot lock
-- it, and everybody can take an advisory lock. It has no rows: a lock of the table takes no number of a transaction and
-- writes nothing, unlike one of a row.
CREATE TABLE audit.sealing ();
GRANT UPDATE ON audit.sealing TO conv_audit;

-- False: another process seals.
CREATE FUNCTION audit.lock_sealing() RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE audit.sealing IN EXCLUSIVE MODE NOWAIT;
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END
$$;
REVOKE ALL ON FUNCTION audit.lock_sealing() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION audit.lock_sealing() TO conv_audit;
