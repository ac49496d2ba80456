-- When and by which transaction blocks are made now, and the time of a block that was there before
-- transaction $1 began: what that one and later ones wrote cannot be older.
SELECT pg_current_xact_id() AS made_xid,
       (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS made_us,
       (SELECT CASE WHEN isfinite(made_at) THEN (extract(epoch FROM made_at) * 1000000)::bigint END
          FROM audit.blocks
         WHERE made_xid < $1::xid8
         ORDER BY last_xid DESC, organization_id DESC, number DESC
         LIMIT 1) AS since_us
