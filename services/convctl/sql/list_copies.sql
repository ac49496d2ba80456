-- The tables whose rows move, in the order in which rows can be deleted, and the statements that copy these.
-- $1 organization
-- columns: name copy_out copy_in
SELECT name,
       format('COPY (SELECT * FROM %s WHERE organization_id = %L) TO STDOUT', name, $1::uuid) AS copy_out,
       format('COPY %s FROM STDIN', name) AS copy_in
  FROM unnest(cell.moved_tables()) AS name
