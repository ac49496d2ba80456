-- Who writes an event looks whether an endpoint of the organization wants its type, and leaves it out
-- where none does: it would become no delivery.
GRANT SELECT (organization_id, events) ON webhook.endpoints TO conv_conversation;
