-- The last block of each of these organizations that has one, sorted.   $1 organizations
SELECT head.organization_id, head.number, head.entries, encode(head.block_hash, 'hex') AS block_hash
  FROM (SELECT DISTINCT id FROM unnest($1::uuid[]) AS id) AS organization
 CROSS JOIN LATERAL (SELECT organization_id, number, entries, block_hash
                       FROM audit.blocks AS block
                      WHERE block.organization_id = organization.id
                      ORDER BY number DESC
                      LIMIT 1) AS head
 ORDER BY head.organization_id
