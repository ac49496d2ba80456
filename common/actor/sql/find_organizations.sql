-- Whether each of these organizations exists, in their order.   $1 organizations
-- columns: is_there
SELECT EXISTS (SELECT FROM access.organizations AS o WHERE o.organization_id = named.id) AS is_there
  FROM unnest($1::uuid[]) WITH ORDINALITY AS named (id, place)
 ORDER BY place
