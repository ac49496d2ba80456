-- The organizations with the most answers, each of which has an entry in the audit log, in some
-- minutes; and the answers to all.
-- $1 first minute, $2 the minute after the last, $3 how many organizations at most
-- columns: organization_id answers answers_to_all
SELECT organization_id, sum(allowed + denied + rejected + error + limited) AS answers,
       sum(sum(allowed + denied + rejected + error + limited)) OVER () AS answers_to_all
FROM access.usage
WHERE minute >= $1::bigint AND minute < $2::bigint
GROUP BY organization_id
ORDER BY answers DESC
LIMIT $3::integer
