-- The last block of each organization that has one, sorted by organization.   $1 organizations
-- columns: organization_id head.*
SELECT head.organization_id,
       head.number,
       head.entries,
       encode(substr(head.block_hash, 1, 33), 'hex') AS block_hash,
       audit.us(head.made_at) AS made_us,
       left(head.key_id, 65) AS key_id,
       encode(substr(head.signature, 1, 65), 'hex') AS signature,
       head.last_xid
  FROM (SELECT DISTINCT id FROM unnest($1::uuid[]) AS id) AS organization
 CROSS JOIN LATERAL (SELECT *
                       FROM audit.blocks AS block
                      WHERE block.organization_id = organization.id
                      ORDER BY number DESC
                      LIMIT 1) AS head
 ORDER BY head.organization_id
