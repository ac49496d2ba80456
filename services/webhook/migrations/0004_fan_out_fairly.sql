-- Events are taken by organization: one that makes many must not keep the others waiting.
CREATE INDEX events_waiting_by_organization
  ON webhook.events (organization_id, created_at, id) WHERE NOT dispatched;
DROP INDEX webhook.events_waiting;
