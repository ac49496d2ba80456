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
SELECT next.number,
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
 CROSS JOIN LATERAL (SELECT request_ids
                       FROM audit.blocks
                      WHERE organization_id = $1::uuid AND number >= next.number
                      ORDER BY number
                      LIMIT 1) AS block
 CROSS JOIN unnest(block.request_ids) WITH ORDINALITY AS item (request_id, place)
 CROSS JOIN LATERAL (SELECT audit.time_of(item.request_id) AS created_at OFFSET 0) AS time
  LEFT JOIN LATERAL (SELECT *
                       FROM audit.entries
                      WHERE organization_id = $1::uuid
                        AND created_at = time.created_at
                        AND request_id >= item.request_id
                      ORDER BY request_id
                      LIMIT 1) AS entry ON entry.request_id = item.request_id
 WHERE next.number = next.first
    OR next.entries - (SELECT entries FROM next WHERE number = first) < $3::bigint
 ORDER BY next.number, item.place
