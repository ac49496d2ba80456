-- $1 organization, $2 event, $3 type, $4 data -> result, JSON
-- columns: operator.*
INSERT INTO webhook.events (organization_id, id, type, data, created_at)
SELECT $1::uuid, $2::uuid, $3::text, $4::jsonb, now()
 WHERE (SELECT cell.admit(ARRAY[$1::uuid]) FROM cell.moves LIMIT 1) IS NOT FALSE
RETURNING 'ok' AS result,
          json_build_object('id', 'evt_' || replace(id::text, '-', ''), 'type', type) AS reply
