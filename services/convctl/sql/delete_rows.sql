-- Deletes rows of an organization.   $1 organization, $2 maximum number of rows
-- columns: deleted
SELECT audit.move_delete($1::uuid, $2::integer) AS deleted
