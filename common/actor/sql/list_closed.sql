-- Organizations that another cell serves, or will in a moment.
-- columns: organization_id
SELECT organization_id FROM cell.closed
