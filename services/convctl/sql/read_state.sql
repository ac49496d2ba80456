-- The state of an organization in a cell; no row: as any other.   $1 organization
-- columns: state
SELECT state FROM cell.moves WHERE organization_id = $1::uuid
