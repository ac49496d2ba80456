-- $1 organization, $2 rows at most
-- columns: deleted
SELECT audit.move_delete($1::uuid, $2::integer) AS deleted
