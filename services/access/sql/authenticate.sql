-- The organization of a key, and what the key allows.
-- $1 SHA-256 of the token in hex, $2 rate limit if the organization has not set one
-- -> result, JSON; no row: unknown, revoked or expired
-- columns: operator.*
SELECT 'ok' AS result, row_to_json(answer) AS reply
FROM (
    SELECT k.organization_id,
           k.api_key_id,
           k.scope,
           floor(extract(epoch FROM k.expires_at))::bigint AS expires_at,
           o.plan <> 'free' AS plan_has_api,
           o.require_https,
           o.ip_allowlist_enabled,
           o.ip_allowlist,
           o.cell,
           coalesce(o.rate_limit, $2::bigint) AS key_limit,
           coalesce(o.rate_limit, $2::bigint) * 5 / 2 AS organization_limit
    FROM access.api_keys k
    JOIN access.organizations o ON o.organization_id = k.organization_id
    WHERE k.token_hash = decode($1, 'hex')
      AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > now())
    LIMIT 1
) answer
