-- What the audit log now has for each entry of the next blocks: NULL if there is no such entry.
--   $1 $2 $3 as in list_blocks.sql
-- An entry is looked up at the time in its id; one with a mark, at the time in the mark. Entries
-- and marks are joined once for each block, by a FULL JOIN: that leaves the planner no nested loop.
-- columns: number chain.*
WITH next AS (
  SELECT number, before, first
    FROM (SELECT number,
                 min(number) OVER () AS first,
                 sum(size) OVER (ORDER BY number) - size AS before
            FROM (SELECT number, pg_column_size(request_ids) / 16 AS size
                    FROM audit.blocks
                   WHERE organization_id = $1::uuid AND number > $2::bigint
                     AND number <= 9007199254740992
                   ORDER BY number
                   LIMIT 100) AS near) AS counted
)
SELECT next.number,
       entry.organization_id,
       entry.request_id,
       audit.us(entry.created_at) AS created_us,
       entry.api_key_id,
       audit.brief(entry.operation) AS operation,
       entry.http_status,
       audit.brief(entry.outcome) AS outcome,
       audit.brief(entry.denial_reason) AS denial_reason,
       entry.conversation_id,
       entry.contact_id,
       entry.xid
  FROM next
 CROSS JOIN LATERAL (SELECT request_ids, implausible, implausible_times
                       FROM audit.blocks
                      WHERE organization_id = $1::uuid AND number >= next.number
                      ORDER BY number
                      LIMIT 1) AS block
 CROSS JOIN LATERAL (SELECT item.request_id, item.place,
                            coalesce(mark.at, audit.time_of(item.request_id)) AS created_at
                       FROM unnest(CASE WHEN cardinality(block.request_ids) <= 1000
                                         AND cardinality(block.implausible) <= 1000
                                        THEN block.request_ids END)
                            WITH ORDINALITY AS item (request_id, place)
                       FULL JOIN unnest(block.implausible, block.implausible_times)
                            AS mark (place, at) ON mark.place = item.place
                     OFFSET 0) AS item
  LEFT JOIN LATERAL (SELECT *
                       FROM audit.entries
                      WHERE organization_id = $1::uuid
                        AND created_at = item.created_at
                        AND request_id >= item.request_id
                      ORDER BY request_id
                      LIMIT 1) AS entry ON entry.request_id = item.request_id
 WHERE (next.number = next.first OR next.before < $3::bigint)
   AND item.request_id IS NOT NULL
 ORDER BY next.number, item.place
