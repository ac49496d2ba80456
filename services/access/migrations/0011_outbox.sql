-- Changes on their way to the log of changes, which the audit service keeps, in a database that may be
-- another one. A row is written in the transaction of the change and deleted when the audit service has
-- answered that the log has it.
CREATE TABLE access.outbox (
    organization_id uuid NOT NULL,
    id uuid NOT NULL, -- a UUIDv7, of the time of the change; the log's id for it
    created_at timestamptz NOT NULL DEFAULT now(),
    who text NOT NULL, -- this and what follows as in the log
    user_id uuid,
    change text NOT NULL,
    target text,
    detail json NOT NULL,
    address text,
    due_at timestamptz NOT NULL DEFAULT now(), -- before that another process sends it, or it is set aside
    refusal text, -- the outcome with which the audit service refused it; null: it did not
    PRIMARY KEY (organization_id, id),
    -- What the log takes.
    CONSTRAINT outbox_texts CHECK (octet_length(who) BETWEEN 1 AND 1024 AND
                                   octet_length(change) BETWEEN 1 AND 64 AND
                                   octet_length(target) <= 1024 AND octet_length(address) <= 64),
    CONSTRAINT outbox_detail CHECK (octet_length(detail::text) <= 65536),
    CONSTRAINT outbox_refusal CHECK (octet_length(refusal) BETWEEN 1 AND 64)
) WITH (fillfactor = 70);

-- For monitoring: how old the oldest is, and what is set aside.
CREATE INDEX outbox_by_age ON access.outbox (created_at) WHERE refusal IS NULL;
CREATE INDEX outbox_set_aside ON access.outbox (organization_id, id) WHERE refusal IS NOT NULL;

GRANT SELECT, DELETE, UPDATE (due_at, refusal),
      INSERT (organization_id, id, who, user_id, change, target, detail, address)
    ON access.outbox TO conv_access;
