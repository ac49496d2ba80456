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
