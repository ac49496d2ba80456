-- Until the connection ends: what another call for the organization has begun has ended then.   $1 organization
-- columns: is_alone
SELECT pg_try_advisory_lock(hashtextextended('audit.move ' || $1::text, 0)) AS is_alone
