-- $1 how many at most -> how many were deleted
SELECT audit.drop_changes($1::integer)
