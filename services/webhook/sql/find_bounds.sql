-- The lowest numbers that live, from which the next turn of this sender looks for claims, for
-- endpoints with waiting deliveries and for endpoints with retries: whatever comes later has higher
-- ones (migrations/0001_webhook.sql). Organizations that are moving between cells do not hold a
-- bound back, and their rows may come with any numbers, also with higher ones than this cell has given
-- so far: so no bound is above these. The sender starts from 0 when `state` has changed: it describes
-- which organizations move, and the run of the server, since one that was promoted or has crashed may
-- give numbers again. A crash does not change when the postmaster started, but it resets the statistics
-- of the background writer.
--   1, 2, 3 the bounds so far
-- columns: claims turns retries state
WITH closed AS MATERIALIZED (
  SELECT organization_id FROM cell.closed
), paused AS MATERIALIZED (
  SELECT organization_id FROM cell.paused
)
SELECT least((SELECT fence FROM webhook.queue
               WHERE fence >= $1::bigint
                 AND organization_id NOT IN (SELECT organization_id FROM closed)
               ORDER BY fence LIMIT 1),
             coalesce(pg_sequence_last_value('webhook.fence'), 0)) AS claims,
       least((SELECT version FROM webhook.progress
               WHERE waits_from IS NOT NULL AND version >= $2::bigint
                 AND organization_id NOT IN (SELECT organization_id FROM paused)
               ORDER BY version LIMIT 1),
             coalesce(pg_sequence_last_value('webhook.version'), 0)) AS turns,
       least((SELECT version FROM webhook.progress
               WHERE retry_at IS NOT NULL AND version >= $3::bigint
                 AND organization_id NOT IN (SELECT organization_id FROM paused)
               ORDER BY version LIMIT 1),
             coalesce(pg_sequence_last_value('webhook.version'), 0)) AS retries,
       md5(concat_ws(' ', pg_postmaster_start_time(), pg_stat_get_bgwriter_stat_reset_time(),
                     (SELECT string_agg(organization_id::text, ' ' ORDER BY organization_id)
                        FROM closed), 'closed',
                     (SELECT string_agg(organization_id::text, ' ' ORDER BY organization_id)
                        FROM paused))) AS state
