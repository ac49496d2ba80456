-- A process that has lost the answer to its claim can hand back what it is not attempting.
ALTER TABLE webhook.queue ADD COLUMN worker uuid; -- who holds the lease
