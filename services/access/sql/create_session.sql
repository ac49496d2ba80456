-- Opens a session, unless the password that matched has been changed since, or the user removed. A
-- change of the password waits for this transaction and then ends the session with the others. A
-- user has at most a hundred sessions: those unused for longest are deleted. Keeps the last twenty
-- networks from which the user signed in.
-- $1 organization, $2 user, $3 hash that the password matched, $4 session, $5 token's hash in hex,
-- $6 address, $7 user agent, $8 network
-- -> result, JSON; no row: the password has changed, or the user was removed
-- columns: operator.*
WITH subject AS (
    SELECT organization_id, user_id, email, role
    FROM access.users
    WHERE organization_id = $1::uuid AND user_id = $2::uuid AND password_hash = $3
    FOR NO KEY UPDATE
), made AS (
    INSERT INTO access.sessions (organization_id, session_id, user_id, token_hash, address,
                                 user_agent)
    SELECT organization_id, $4::uuid, user_id, decode($5, 'hex'), $6, left($7, 255)
    FROM subject
    RETURNING created_at, last_seen_at
), crowded AS (
    DELETE FROM access.sessions s
    USING subject
    WHERE s.organization_id = subject.organization_id
      AND s.session_id IN (SELECT session_id FROM access.sessions
                           WHERE organization_id = $1::uuid AND user_id = $2::uuid
                           ORDER BY last_seen_at DESC, session_id DESC
                           OFFSET 99)
), from_there AS (
    INSERT INTO access.sign_in_networks (organization_id, user_id, network)
    SELECT organization_id, user_id, $8 FROM subject
    ON CONFLICT (organization_id, user_id, network) DO UPDATE SET signed_in_at = now()
), forgotten AS (
    DELETE FROM access.sign_in_networks n
    USING subject
    WHERE n.organization_id = subject.organization_id AND n.user_id = subject.user_id
      AND n.network IN (SELECT network FROM access.sign_in_networks
                        WHERE organization_id = $1::uuid AND user_id = $2::uuid AND network <> $8
                        ORDER BY signed_in_at DESC, network
                        OFFSET 19)
), seen AS (
    UPDATE access.users u SET last_seen_at = now()
    FROM subject
    WHERE u.organization_id = subject.organization_id AND u.user_id = subject.user_id
)
SELECT 'ok' AS result, row_to_json(answer) AS reply
FROM (
    SELECT floor(extract(epoch FROM access.session_ends_at(made.created_at, made.last_seen_at)))
               ::bigint AS expires_at,
           json_build_object('id', subject.user_id, 'email', subject.email,
                             'role', subject.role) AS "user",
           json_build_object('id', o.organization_id, 'name', o.name, 'plan', o.plan)
               AS organization
    FROM made, subject
    JOIN access.organizations o ON o.organization_id = subject.organization_id
) answer
