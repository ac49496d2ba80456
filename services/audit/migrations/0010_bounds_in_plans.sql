-- What may be appended is bounded as before, by a policy instead of constraints: PostgreSQL reads and
-- plans each CHECK constraint anew for every statement that appends, and there is one in every batch
-- of every service. The condition of a policy is a part of the prepared plan.
--
-- It binds everybody but the owner, who could drop a constraint as well. Nobody has rights on the
-- partitions themselves. That an entry has the time in its id is new: so an organization has one entry
-- of an id, and the order of sealing knows no equals.
ALTER TABLE audit.entries
  DROP CONSTRAINT entries_created_at,
  DROP CONSTRAINT entries_http_status,
  DROP CONSTRAINT entries_operation,
  DROP CONSTRAINT entries_outcome,
  DROP CONSTRAINT entries_denial_reason,
  ENABLE ROW LEVEL SECURITY;

-- Who may read at all reads everything.
CREATE POLICY readable ON audit.entries FOR SELECT USING (true);
CREATE POLICY bounded ON audit.entries FOR INSERT WITH CHECK (
  created_at >= '1970-01-01 00:00+00' AND created_at < '10900-01-01 00:00+00'
  AND created_at = audit.time_of(request_id)
  AND http_status BETWEEN 100 AND 599
  AND octet_length(operation) BETWEEN 1 AND 64 AND strpos(operation, E'\n') = 0
  AND octet_length(outcome) BETWEEN 1 AND 64 AND strpos(outcome, E'\n') = 0
  AND (denial_reason IS NULL
       OR octet_length(denial_reason) BETWEEN 1 AND 64 AND strpos(denial_reason, E'\n') = 0));
