-- The greatest block in the order of sealing: of all settled blocks, or below a place. Also the
-- horizon, below which every transaction is settled, and whether a block lies beyond it.
--   $1 $2 $3 below this place: transaction, organization, number; NULL = below the horizon
--   $4 made on this server before this transaction, among the next 10,000 blocks only; NULL = any block
-- is_here: made on this server. Others have come from another cell, whose clock and numbers they have.
-- Values longer than those of our blocks are not read, which makes the block malformed.
-- columns: verify.* organization_id is_here horizon is_ahead
SELECT place.number,
       encode(substr(place.previous_hash, 1, 33), 'hex') AS previous_hash,
       place.entries,
       place.last_xid,
       place.last_request_id,
       place.made_xid,
       audit.us(place.made_at) AS made_us,
       left(place.key_id, 65) AS key_id,
       encode(substr(place.block_hash, 1, 33), 'hex') AS block_hash,
       encode(substr(place.signature, 1, 65), 'hex') AS signature,
       CASE WHEN cardinality(place.request_ids) <= 1000 AND array_ndims(place.request_ids) = 1
            THEN array_to_string(place.request_ids, ',') END AS request_ids,
       CASE WHEN octet_length(place.entry_hashes) <= 32000
            THEN encode(place.entry_hashes, 'hex') END AS entry_hashes,
       CASE WHEN cardinality(place.implausible) <= 1000
             AND coalesce(array_ndims(place.implausible), 1) = 1
            THEN array_to_string(place.implausible, ',') ELSE '-' END AS implausible_places,
       CASE WHEN cardinality(place.implausible_times) <= 1000
             AND coalesce(array_ndims(place.implausible_times), 1) = 1
            THEN (SELECT string_agg(audit.us(at), ',' ORDER BY nth)
                    FROM unnest(place.implausible_times) WITH ORDINALITY AS mark (at, nth))
            ELSE '-' END AS implausible_us,
       place.organization_id,
       place.made_xid > horizon.here_above AS is_here,
       horizon.xid AS horizon,
       coalesce((SELECT true FROM audit.blocks WHERE last_xid >= horizon.xid
                  ORDER BY last_xid, organization_id, number LIMIT 1), false) AS is_ahead
  FROM (SELECT audit.horizon() AS xid, audit.here_above() AS here_above OFFSET 0) AS horizon
  LEFT JOIN LATERAL (SELECT *
                       FROM (SELECT *
                               FROM audit.blocks
                              WHERE (last_xid, organization_id, number) <
                                    (coalesce($1::xid8, horizon.xid),
                                     coalesce($2::uuid, '00000000-0000-0000-0000-000000000000'),
                                     coalesce($3::bigint, 0))
                              ORDER BY last_xid DESC, organization_id DESC, number DESC
                              LIMIT CASE WHEN $4::xid8 IS NULL THEN 1 ELSE 10000 END) AS near
                      WHERE $4::xid8 IS NULL
                         OR (made_xid < $4::xid8 AND made_xid > horizon.here_above)
                      ORDER BY last_xid DESC, organization_id DESC, number DESC
                      LIMIT 1) AS place ON true
