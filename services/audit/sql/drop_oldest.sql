-- Drops the oldest month if it may go; returns its name.   $1 months that everything is kept
SELECT audit.drop_oldest($1::integer)
