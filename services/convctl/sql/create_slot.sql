-- The replication command that creates the slot and exports the snapshot that its changes follow.   $1 organization
-- columns: command
SELECT format('CREATE_REPLICATION_SLOT %I LOGICAL pgoutput (SNAPSHOT ''export'')', audit.move_name($1::uuid))
         AS command
