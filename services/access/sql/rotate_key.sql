-- Creates a successor with the same name and scope, and sets the old key's end: the earlier of the
-- end that it had and the requested one. If the key was created with a lifetime, the successor has
-- the same lifetime.
-- $1 organization, $2 old key, $3 successor, $4 seconds for which both are valid; of the
-- successor's token: $5 hash and $6 last four if it may write, $7 hash and $8 last four if it may
-- only read
-- -> result (ok, key_ended), JSON, scope; no row: no such key
-- columns: operator.* scope
WITH old AS (
    SELECT name, scope, prefix,
           CASE WHEN replaced_at IS NULL THEN expires_at - date_trunc('second', created_at)
                ELSE lifetime END AS lifetime
    FROM access.api_keys
    WHERE organization_id = $1::uuid AND api_key_id = $2::uuid
      AND revoked_at IS NULL
      AND (expires_at IS NULL OR expires_at > now())
    FOR NO KEY UPDATE
), ended AS (
    UPDATE access.api_keys k
    SET expires_at = least(k.expires_at,
                           date_trunc('second', now()) + $4::bigint * interval '1 second'),
        replaced_at = coalesce(k.replaced_at, now()),
        lifetime = old.lifetime
    FROM old
    WHERE k.organization_id = $1::uuid AND k.api_key_id = $2::uuid
    RETURNING k.api_key_id AS id, floor(extract(epoch FROM k.expires_at))::bigint AS expires_at
), created AS (
    INSERT INTO access.api_keys (organization_id, api_key_id, token_hash, name, scope, prefix,
                                 last_four, expires_at)
    SELECT $1::uuid, $3::uuid,
           decode(CASE scope WHEN 'full' THEN $5 ELSE $7 END, 'hex'), name, scope, prefix,
           CASE scope WHEN 'full' THEN $6 ELSE $8 END, date_trunc('second', now()) + lifetime
    FROM old
    RETURNING api_key_id AS id, name, scope, prefix, last_four,
              floor(extract(epoch FROM created_at))::bigint AS created_at,
              floor(extract(epoch FROM expires_at))::bigint AS expires_at
)
SELECT 'ok' AS result, row_to_json(answer) AS reply, answer.scope
FROM (SELECT created.*, (SELECT row_to_json(ended) FROM ended) AS replaces FROM created) answer
UNION ALL
SELECT 'key_ended', NULL, NULL
FROM access.api_keys
WHERE organization_id = $1::uuid AND api_key_id = $2::uuid AND NOT EXISTS (SELECT FROM old)
