-- Notes beside the publication how the slots are named by which tables are copied.   $1 organization, $2 for LIKE
-- columns: noted
SELECT audit.move_note($1::uuid, $2::text) IS NOT NULL AS noted
