-- A user of :org whose password has :hash, listed before all that the service makes. -> id
INSERT INTO access.users (organization_id, user_id, email, role, password_hash)
VALUES (:'org', ('00' || substr(gen_random_uuid()::text, 3))::uuid, :'email', :'role', :'hash')
RETURNING user_id;
