-- What the trail holds in the place of each entry of the next blocks: the block, then the columns
-- of enum chain_field, null where there is no such entry.   $1 $2 $3 as in list_blocks.sql
WITH next AS (
  SELECT number, entries, min(number) OVER () AS first
    FROM (SELECT number, entries
            FROM audit.blocks
           WHERE organization_id = $1::uuid AND number > $2::bigint
           ORDER BY number
           LIMIT 100) AS near
)
SELECT block.number,
       entry.organization_id,
       entry.request_id,
       (extract(epoch FROM entry.created_at) * 1000000)::bigint AS created_us,
       entry.api_key_id,
       entry.operation,
       entry.http_status,
       entry.outcome,
       entry.denial_reason,
       entry.conversation_id,
       entry.contact_id,
       entry.xid
  FROM next
  JOIN audit.blocks AS block ON block.organization_id = $1::uuid AND block.number = next.number
 CROSS JOIN unnest(block.request_ids) WITH ORDINALITY AS item (request_id, place)
  LEFT JOIN audit.entries AS entry
         ON entry.organization_id = $1::uuid
        AND entry.created_at = audit.time_of(item.request_id)
        AND entry.request_id = item.request_id
 WHERE next.number = next.first
    OR next.entries - (SELECT entries FROM next WHERE number = first) < $3::bigint
 ORDER BY block.number, item.place
