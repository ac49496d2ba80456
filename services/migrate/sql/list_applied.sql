-- columns: service number checksum
SELECT service, number, checksum FROM migration.applied ORDER BY service, number
