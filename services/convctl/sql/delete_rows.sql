-- Deletes rows of an organization.   $1 organization, $2 table, $3 maximum number of rows
-- columns: deleted
SELECT audit.move_delete($1::uuid, $2::text, $3::integer) AS deleted
