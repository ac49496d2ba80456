-- The last head of a chain that is known to have been published, and what retention has dropped.
--   $1 organization
SELECT coalesce((SELECT max(number) FROM audit.heads WHERE organization_id = $1::uuid), 0)
         AS published,
       coalesce((SELECT (extract(epoch FROM max(until)) * 1000000)::bigint FROM audit.dropped), 0)
         AS dropped_us
