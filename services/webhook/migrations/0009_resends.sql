-- What is to be sent again by the thousand waits here for the queue, which takes it in steps.
CREATE TABLE webhook.resends (
  organization_id uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  event_id        uuid NOT NULL,
  event_type      text NOT NULL,
  previous_id     uuid NOT NULL, -- the delivery that is repeated
  PRIMARY KEY (organization_id, endpoint_id, event_id)
);
GRANT SELECT, INSERT, DELETE ON webhook.resends TO conv_webhook;

-- An endpoint's deliveries that did not succeed; and those of an event that is sent once more, which
-- name the one before. What is sent once and succeeds is in neither.
-- Where there are deliveries, each day gets its own when all migrations are through: migrate builds them
-- while deliveries go on.
DO $$
DECLARE
  whose constant text := CASE WHEN EXISTS (SELECT FROM webhook.deliveries) THEN 'ONLY' ELSE '' END;
BEGIN
  EXECUTE format($index$
    CREATE INDEX deliveries_unsuccessful ON %s webhook.deliveries
      (organization_id, endpoint_id, created_at, id) WHERE state <> 'succeeded'$index$, whose);
  EXECUTE format($index$
    CREATE INDEX deliveries_again ON %s webhook.deliveries (event_id)
      WHERE previous_id IS NOT NULL$index$, whose);
END
$$;
CREATE INDEX queue_again ON webhook.queue (event_id) WHERE previous_id IS NOT NULL;
