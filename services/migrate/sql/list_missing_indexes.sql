-- The indexes that partitions lack although a migration has created them ON ONLY the parent, newest
-- partitions first. An index whose build was interrupted is built again.
-- -> the index's name, and statements: to drop its remains, null = none; to create it, null = it
--    exists; to attach it
-- columns: name removal creation attachment
SELECT lacking.name,
       CASE WHEN made.indexrelid IS NOT NULL AND NOT made.indisvalid
            THEN format('DROP INDEX CONCURRENTLY %s', made.indexrelid::regclass) END AS removal,
       CASE WHEN made.indexrelid IS NULL OR NOT made.indisvalid
            THEN regexp_replace(pg_get_indexdef(lacking.parent_index),
                                '^CREATE INDEX .+? ON ONLY .+? USING ',
                                format('CREATE INDEX CONCURRENTLY %I ON %s USING ', lacking.name,
                                       lacking.partition::regclass)) END AS creation,
       format('ALTER INDEX %s ATTACH PARTITION %I.%I', lacking.parent_index::regclass,
              lacking.namespace, lacking.name) AS attachment
  FROM (SELECT parent.indexrelid AS parent_index, child.inhrelid AS partition,
               child_class.relname, space.nspname AS namespace,
               format('%s_%s', left(child_class.relname, 31), left(index_class.relname, 31)) AS name
          FROM pg_index AS parent
          JOIN pg_class AS index_class ON index_class.oid = parent.indexrelid
          JOIN pg_inherits AS child ON child.inhparent = parent.indrelid
          JOIN pg_class AS child_class ON child_class.oid = child.inhrelid
          JOIN pg_namespace AS space ON space.oid = child_class.relnamespace
         WHERE index_class.relkind = 'I' AND NOT parent.indisvalid AND NOT parent.indisunique
           AND NOT EXISTS (SELECT FROM pg_index AS own
                             JOIN pg_inherits AS attached ON attached.inhrelid = own.indexrelid
                            WHERE own.indrelid = child.inhrelid
                              AND attached.inhparent = parent.indexrelid)) AS lacking
  LEFT JOIN pg_index AS made
         ON made.indrelid = lacking.partition
        AND made.indexrelid = to_regclass(format('%I.%I', lacking.namespace, lacking.name))
 ORDER BY lacking.relname DESC, lacking.name
