-- Drops the oldest month, if it is that one and may go, and notes it; returns its name.
--   $1 months that are kept   $2 where it ends   $3 what the note before reached to, or NULL
--   $4 when: all Unix microseconds   $5 by whom   $6 key   $7 signature, in hex
-- columns: partition
SELECT audit.drop_month($1::integer, audit.at($2::bigint), audit.at($3::bigint),
                        audit.at($4::bigint), $5::text, $6::text, decode($7::text, 'hex')) AS partition
