-- $1 service, $2 number, $3 title, $4 checksum
INSERT INTO migration.applied (service, number, title, checksum) VALUES ($1, $2::integer, $3, $4)
