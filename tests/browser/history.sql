-- A history for the screenshots: the usage of :org's keys in the last hour, and the results of its
-- deliveries. The numbers of each minute depend on its position in the hour.
WITH minutes AS (
    SELECT date_part('epoch', now())::bigint / 60 - 60 + i AS minute,
           40 + 24 * sin(i / 9.0) + (i * 37) % 11 AS busy, i
    FROM generate_series(1, 58) AS i
), counted AS (
    SELECT k.organization_id, k.api_key_id, m.minute, m.i,
           (m.busy * CASE k.scope WHEN 'full' THEN 8 ELSE 2.5 END)::integer AS n
    FROM access.api_keys k CROSS JOIN minutes m
    WHERE k.organization_id = :'org' AND k.name IN ('Web shop', 'Reporting')
)
INSERT INTO access.usage (organization_id, api_key_id, minute, allowed, denied, rejected, error,
                          limited, latency)
SELECT organization_id, api_key_id, minute, n, n / 40, n / 25 + (i * 13) % 5, (i % 29 = 0)::integer * 3,
       CASE WHEN i BETWEEN 11 AND 17 THEN n / 12 ELSE 0 END,
       ARRAY[0, n / 8, n / 2, n / 4, n / 12, n / 30, n / 60 + i % 3, (i % 7 = 0)::integer,
             (i BETWEEN 30 AND 34)::integer * 2, 0, 0, 0, 0]
FROM counted
ON CONFLICT DO NOTHING;

INSERT INTO webhook.statistics (organization_id, minute, delivered, failed)
SELECT :'org', date_trunc('minute', now()) - make_interval(mins => i), 6 + (i * 7) % 9,
       CASE WHEN i BETWEEN 34 AND 41 THEN 5 ELSE (i % 17 = 0)::integer END
FROM generate_series(2, 58) AS i
ON CONFLICT DO NOTHING;

UPDATE access.api_keys SET last_used_at = date_trunc('minute', now())
 WHERE organization_id = :'org' AND name IN ('Web shop', 'Reporting');
