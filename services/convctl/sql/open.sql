-- Opens the organization in a cell.   $1 organization, $2 none of its entries that are not sealed is older; null = unknown
-- columns: opened
SELECT cell.open($1::uuid, $2::timestamptz) IS NOT NULL AS opened
