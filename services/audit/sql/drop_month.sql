-- Drops the oldest month, if it is the given one and may be dropped, and adds the note; returns the
-- name of its partition.
--   $1 months to keep   $2 the end of the month   $3 the end in the note before, or NULL   $4 now
--   ($2 to $4 in Unix microseconds)   $5 by whom   $6 key   $7 signature, in hex
-- columns: partition
SELECT audit.drop_month($1::integer, audit.at($2::bigint), audit.at($3::bigint),
                        audit.at($4::bigint), $5::text, $6::text, decode($7::text, 'hex')) AS partition
