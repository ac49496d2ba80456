-- Adds :n keys of :org, named alpha-1 and so on. No token fits them.
INSERT INTO access.api_keys (organization_id, api_key_id, token_hash, name, scope, prefix, last_four)
SELECT :'org', gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'alpha-' || i, 'read',
       'svc_read_', lpad(i::text, 4, 'x')
FROM generate_series(1, :n) AS i;
