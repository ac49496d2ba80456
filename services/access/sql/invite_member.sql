-- Invites a user, or renews an invitation that was not accepted, which makes the earlier one void.
-- $1 organization, $2 user, $3 email in lower case, $4 role, $5 invitation's hash in hex, $6 role
-- of the inviting user, or null: an operator; $7 the inviting user, or null, $8 the inviting user's
-- address, or null
-- -> result (ok, email_taken, insufficient_role), JSON; no row: no such organization
-- columns: operator.*
WITH invited AS (
    INSERT INTO access.users AS u (organization_id, user_id, email, role, invitation_hash,
                                   invitation_expires_at, invited_by, invited_from)
    SELECT organization_id, $2::uuid, $3, $4, decode($5, 'hex'), now() + interval '72 hours',
           $7::uuid, $8
    FROM access.organizations
    WHERE organization_id = $1::uuid
    ON CONFLICT (organization_id, email) DO UPDATE
    SET role = excluded.role,
        invitation_hash = excluded.invitation_hash,
        invitation_expires_at = excluded.invitation_expires_at,
        invited_by = excluded.invited_by,
        invited_from = excluded.invited_from
    WHERE u.password_hash IS NULL
      AND (u.role <> 'owner' OR coalesce($6, 'owner') = 'owner')
    RETURNING organization_id, user_id, email, role, invitation_expires_at
)
SELECT CASE
           WHEN invited.user_id IS NOT NULL THEN 'ok'
           WHEN EXISTS (SELECT FROM access.users u
                        WHERE u.organization_id = $1::uuid AND u.email = $3
                          AND u.password_hash IS NULL AND u.role = 'owner')
               AND $6 <> 'owner' THEN 'insufficient_role'
           ELSE 'email_taken'
       END AS result,
       (SELECT row_to_json(answer)
        FROM (SELECT invited.user_id AS id, invited.email, invited.role,
                     floor(extract(epoch FROM invited.invitation_expires_at))::bigint
                         AS expires_at) AS answer) AS reply
FROM access.organizations o
LEFT JOIN invited ON invited.organization_id = o.organization_id
WHERE o.organization_id = $1::uuid
