-- A rotated key has an end that it was not made with. Rotated once more (an answer was lost, say), its
-- successor shall last as long as the key itself was made to last, not until a little after that end.
ALTER TABLE access.api_keys ADD COLUMN replaced_at timestamptz, -- first time it was rotated
                            ADD COLUMN lifetime interval; -- as it was then; null = without end
GRANT UPDATE (replaced_at, lifetime) ON access.api_keys TO conv_access;
