-- The replication command that creates the slot and exports the snapshot that its changes follow.   $1 organization
-- columns: command
SELECT format('CREATE_REPLICATION_SLOT %I LOGICAL pgoutput (SNAPSHOT ''export'')', cell.name_of($1::uuid))
         AS command
