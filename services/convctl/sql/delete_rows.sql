-- Deletes rows of an organization.   $1 organization, $2 table, $3 maximum number of rows
-- columns: deleted
SELECT cell.delete_rows($1::uuid, $2::text, $3::integer) AS deleted
