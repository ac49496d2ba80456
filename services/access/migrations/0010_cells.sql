-- In which cell an organization's conversations, audit log and webhooks are. What was made before, and what a
-- version makes that knows no cells, is in the cell main.
--
-- Services look no organization up here any more: who sends them commands has done so. The rights to it
-- (0008) stay for one version, as replicas of the one before may still run beside this one.
SET LOCAL lock_timeout = '3s';

ALTER TABLE access.organizations
  ADD COLUMN cell text NOT NULL DEFAULT 'main' CHECK (cell ~ '^[a-z][a-z0-9]{0,15}$');
GRANT UPDATE (cell) ON access.organizations TO conv_access;
