-- A create leaves its event out where no endpoint of the organization has the type among its events: it would
-- become no delivery. A view, because a program prepares its statements when it starts: one that is new finds
-- out then that this has not been applied yet, where a missing right alone would fail each create.
CREATE VIEW webhook.wanted_events AS SELECT organization_id, events FROM webhook.endpoints;
GRANT SELECT ON webhook.wanted_events TO conv_conversation;
