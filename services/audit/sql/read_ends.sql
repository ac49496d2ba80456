-- The last head of a chain that is known to have been published, and before when retention has
-- dropped entries. A month is kept for three at least, so a note that says otherwise is not ours.
--   $1 organization
SELECT coalesce((SELECT max(number) FROM audit.heads WHERE organization_id = $1::uuid), 0)
         AS published,
       coalesce((SELECT (extract(epoch FROM max(until)) * 1000000)::bigint
                   FROM audit.dropped
                  WHERE (until AT TIME ZONE 'UTC' + interval '3 months') AT TIME ZONE 'UTC'
                        <= now()), 0)
         AS dropped_us
