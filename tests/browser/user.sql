-- Adds a user of :org with the password hash :hash, sorted before all users that the service makes.
-- Returns its id.
INSERT INTO access.users (organization_id, user_id, email, role, password_hash)
VALUES (:'org', ('00' || substr(gen_random_uuid()::text, 3))::uuid, :'email', :'role', :'hash')
RETURNING user_id;
