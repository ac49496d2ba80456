-- What keys were used for, a minute each, as proto/usage.def has it: kept for eight days.
CREATE TABLE access.usage (
    organization_id uuid NOT NULL,
    api_key_id uuid NOT NULL,
    minute bigint NOT NULL, -- Unix seconds / 60
    allowed integer NOT NULL,
    denied integer NOT NULL,
    rejected integer NOT NULL,
    error integer NOT NULL,
    limited integer NOT NULL,
    latency integer[] NOT NULL CHECK (cardinality(latency) = 13), -- requests in each bucket
    PRIMARY KEY (organization_id, minute, api_key_id)
) WITH (fillfactor = 70); -- gateways report a minute in several parts

CREATE INDEX usage_by_minute ON access.usage (minute);

GRANT SELECT, INSERT, DELETE, UPDATE (allowed, denied, rejected, error, limited, latency)
    ON access.usage TO conv_access;

-- Locked by the one transaction at a time that records a report. Who has no right to change the table cannot lock it,
-- and everybody can take an advisory lock.
CREATE TABLE access.usage_turn ();
GRANT UPDATE ON access.usage_turn TO conv_access;

-- Waits for the transaction that has it.
CREATE FUNCTION access.lock_usage() RETURNS void
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  LOCK TABLE access.usage_turn IN EXCLUSIVE MODE;
END
$$;
REVOKE ALL ON FUNCTION access.lock_usage() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION access.lock_usage() TO conv_access;
