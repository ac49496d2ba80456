-- What the dashboard's list of conversations is narrowed to: those that are not as the API makes
-- them. The others are found by the primary key. Nothing that the API writes gets into these, so
-- all that they cost it is the look at their conditions.
CREATE INDEX conversations_by_status
  ON conversation.conversations
     (organization_id, (CASE status WHEN 'closed' THEN 'resolved' ELSE status END), id)
  WHERE status <> 'active' AND deleted_at IS NULL;
CREATE INDEX conversations_by_channel
  ON conversation.conversations (organization_id, channel, id)
  WHERE channel <> 'api' AND deleted_at IS NULL;

-- A page is a walk along one of them that ends early: neither a bitmap nor workers can do that.
DO $$
DECLARE
  setting text;
BEGIN
  FOREACH setting IN ARRAY ARRAY['enable_bitmapscan = off',
                                 'max_parallel_workers_per_gather = 0'] LOOP
    EXECUTE format('ALTER ROLE conv_conversation IN DATABASE %I SET %s',
                   current_database(), setting);
  END LOOP;
END
$$;
