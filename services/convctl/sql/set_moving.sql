-- $1 organization, $2 state
-- columns: organization_id
INSERT INTO cell.moves AS m (organization_id, state)
VALUES ($1::uuid, $2::text)
    ON CONFLICT (organization_id) DO UPDATE SET state = EXCLUDED.state, since = clock_timestamp()
RETURNING organization_id
