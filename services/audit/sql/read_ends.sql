-- The number of a chain's last head that is recorded as published, and whether there are blocks
-- with numbers that our blocks cannot have.
--   $1 organization
-- columns: published has_strange
SELECT coalesce((SELECT max(number) FROM audit.heads
                  WHERE organization_id = $1::uuid AND number <= 9007199254740992), 0)
         AS published,
       EXISTS (SELECT FROM audit.blocks WHERE organization_id = $1::uuid AND number < 1)
       OR EXISTS (SELECT FROM audit.blocks
                   WHERE organization_id = $1::uuid AND number > 9007199254740992)
         AS has_strange
