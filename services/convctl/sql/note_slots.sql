-- Records with the publication the names of the slots through which tables are copied.
-- $1 organization, $2 pattern for LIKE
-- columns: noted
SELECT audit.move_note($1::uuid, $2::text) IS NOT NULL AS noted
