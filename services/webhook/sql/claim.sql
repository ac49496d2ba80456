-- Claims deliveries to be attempted now, fairly over endpoints.
--
-- An endpoint whose latest attempt succeeded is proven and has 4 slots; any other, new ones
-- included, has 1. An organization has 32 slots, of which proven endpoints take at most 28 and the
-- others at most 24, so that neither kind can starve the other: endpoints that hang take only their
-- own slots. Endpoints that have waited longest come first.
--
-- To a proven endpoint, the worker has 4 attempts under way at a time, but may claim more: one for
-- each quick success that this transaction completes, up to 12, which begin as soon as others end.
-- Only a worker that is the only one with claims for this endpoint may do so. If several have some,
-- all but one stop claiming for it until theirs are completed.
--
-- Nothing is looked for among what is dead (migrations/0001_webhook.sql): claims and endpoints with
-- waiting deliveries from the lowest number that lives, deliveries of an endpoint from `waits_from`.
-- An endpoint that has been passed over for long, so that much has died behind it, gets a new
-- version: one in eight updates at most is for this. Rows are found once and then updated by ctid:
-- see fan_out.sql. What is ordered by its number is so for the planner: no other index serves that.
--
--   1 free slots of this process  2 how many of them proven endpoints may take  3 how many others may
--   4 milliseconds until a claim expires  5 the worker that claims
--   6 the organizations of quick successes  7 their endpoints
--   8 lower bound of the claims, 9 of the versions of endpoints with waiting deliveries
--
-- The data is NULL if the event was deleted while its delivery waited. Texts longer than our
-- services write are cut; the sender then sends nothing.
-- columns: organization_id endpoint_id id fence event_id event_type created_at data url signing
-- columns: secret waited_us
WITH busy AS MATERIALIZED (
  SELECT organization_id, endpoint_id, count(*)::integer AS n, bool_and(worker = $5::uuid) AS is_own,
         bool_or(worker < $5) AS yields
    FROM (SELECT organization_id, endpoint_id, worker FROM webhook.queue
           WHERE fence >= $8::bigint
           ORDER BY fence) AS q
   GROUP BY organization_id, endpoint_id
), quick AS MATERIALIZED (
  SELECT organization_id, id, least(count(*), 12)::integer AS n
    FROM unnest($6::uuid[], $7::uuid[]) AS q (organization_id, id)
   GROUP BY organization_id, id
), load AS MATERIALIZED (
  SELECT b.organization_id, sum(b.n)::integer AS n,
         coalesce(sum(b.n) FILTER (WHERE e.proven), 0)::integer AS proven
    FROM busy b
    LEFT JOIN LATERAL (
      SELECT proven FROM webhook.progress
       WHERE organization_id = b.organization_id AND id = b.endpoint_id
       ORDER BY version DESC
       LIMIT 1) AS e ON true
   GROUP BY b.organization_id
), with_work AS MATERIALIZED (
  SELECT e.organization_id, e.id, e.proven, e.claimed_at, e.waits_from, e.ctid,
         e.version < (SELECT pg_sequence_last_value('webhook.version')) - 1000 - 8 * count(*) OVER ()
           AS is_behind,
         CASE WHEN NOT e.proven THEN 1
              WHEN coalesce(b.is_own, true) THEN 4 + coalesce(k.n, 0)
              WHEN b.yields THEN 0
              ELSE 4 END - coalesce(b.n, 0) AS room
    FROM (SELECT *, ctid FROM webhook.progress
           WHERE waits_from IS NOT NULL AND version >= $9::bigint
           ORDER BY version) AS e
    LEFT JOIN busy b ON b.organization_id = e.organization_id AND b.endpoint_id = e.id
    LEFT JOIN quick k ON k.organization_id = e.organization_id AND k.id = e.id
   WHERE NOT EXISTS (SELECT FROM cell.paused WHERE organization_id = e.organization_id)
), ready AS MATERIALIZED (
  SELECT e.*,
         32 - coalesce(l.n, 0) AS organization_room,
         least(32 - coalesce(l.n, 0),
               CASE WHEN e.proven THEN 28 - coalesce(l.proven, 0)
                    ELSE 24 - coalesce(l.n - l.proven, 0) END) AS kind_room,
         row_number() OVER (PARTITION BY e.organization_id, e.proven
                            ORDER BY e.claimed_at NULLS FIRST) AS turn
    FROM with_work e
    LEFT JOIN load l ON l.organization_id = e.organization_id
   WHERE e.room > 0
), looked_at AS MATERIALIZED (
  SELECT * FROM ready WHERE turn <= kind_room
), waiting AS MATERIALIZED (
  -- One row more than there is room for tells whether work is left.
  SELECT l.organization_id, l.id AS endpoint_id, l.proven, l.claimed_at, l.turn, l.room,
         l.organization_room, l.kind_room, q.id, q.ctid,
         row_number() OVER (PARTITION BY l.organization_id, l.id ORDER BY q.id) AS nth
    FROM looked_at l
   CROSS JOIN LATERAL (
     SELECT id, ctid FROM webhook.queue
      WHERE organization_id = l.organization_id AND endpoint_id = l.id AND id >= l.waits_from
        AND fence IS NULL
      ORDER BY id
      LIMIT l.room + 1) q
), in_kind AS (
  SELECT *, row_number() OVER (PARTITION BY organization_id, proven ORDER BY nth, turn) AS place
    FROM waiting
   WHERE nth <= room
), in_organization AS (
  SELECT *, row_number() OVER (PARTITION BY organization_id
                               ORDER BY place, NOT proven) AS organization_place
    FROM in_kind
   WHERE place <= kind_room
), in_process AS (
  SELECT *, row_number() OVER (PARTITION BY proven
                               ORDER BY organization_place, claimed_at NULLS FIRST) AS process_place
    FROM in_organization
   WHERE organization_place <= organization_room
), chosen AS MATERIALIZED (
  SELECT organization_id, endpoint_id, ctid
    FROM in_process
   WHERE process_place <= CASE WHEN proven THEN $2::integer ELSE $3::integer END
   ORDER BY organization_place, NOT proven
   LIMIT $1::integer
), claimed AS (
  UPDATE webhook.queue
     SET claimed_at = clock_timestamp(),
         lease_until = clock_timestamp() + $4::integer * interval '1 millisecond',
         fence = nextval('webhook.fence'), worker = $5::uuid
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM chosen))
  RETURNING organization_id, endpoint_id, id, fence, event_id, event_type
), left_over AS MATERIALIZED (
  SELECT l.ctid, c.n,
         (SELECT id FROM waiting w
           WHERE w.organization_id = l.organization_id AND w.endpoint_id = l.id
             AND w.nth = c.n + 1) AS waits_from
    FROM looked_at l
   CROSS JOIN LATERAL (
     SELECT count(*) AS n FROM chosen
      WHERE organization_id = l.organization_id AND endpoint_id = l.id) AS c
), marked AS (
  UPDATE webhook.progress p
     SET (waits_from, claimed_at, version) = (
           SELECT l.waits_from, clock_timestamp(), nextval('webhook.version')
             FROM left_over l
            WHERE l.ctid = p.ctid)
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM left_over WHERE n > 0 OR waits_from IS NULL))
), kept_up AS (
  UPDATE webhook.progress SET version = nextval('webhook.version')
   WHERE ctid = ANY (ARRAY(SELECT ctid FROM with_work WHERE is_behind
                           EXCEPT SELECT ctid FROM left_over WHERE n > 0 OR waits_from IS NULL))
)
SELECT c.organization_id, c.endpoint_id, c.id, c.fence,
       replace(c.event_id::text, '-', '') AS event_id, c.event_type,
       floor(extract(epoch FROM v.created_at))::bigint AS created_at,
       left(v.data::text, 65537) AS data, left(e.url, 2049) AS url, e.signing,
       encode(substring(e.secret FROM 1 FOR 256), 'hex') AS secret,
       floor(extract(epoch FROM clock_timestamp() - webhook.time_of(c.id)) * 1000000)::bigint
         AS waited_us
  FROM claimed c
 CROSS JOIN LATERAL (
   SELECT url, signing, secret FROM webhook.endpoints
    WHERE organization_id = c.organization_id AND id = c.endpoint_id
   OFFSET 0) AS e
  LEFT JOIN LATERAL (
   SELECT created_at, data FROM webhook.events
    WHERE organization_id = c.organization_id AND id = c.event_id
   OFFSET 0) AS v ON true
