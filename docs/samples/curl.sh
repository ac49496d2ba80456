#!/usr/bin/env bash
# Creates conversations of a customer, reads one, changes it, and lists them all, page by page.
#
#     BASE_URL=http://127.0.0.1:8080/api/v1 FULL_KEY=svc_live_... ./curl.sh [CUSTOMER]
#
# Needs curl and jq.
set -euo pipefail
customer=${1-user-7}

answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

# The key goes in by standard input: among the arguments everybody on the machine could read it.
# Broken connections, 429 and 5xx are tried again, after Retry-After or else 1, 2, 4 ... seconds. The
# body goes to a file, which curl rewrites with each attempt.
api() {
  local method=$1 path=$2 body=${3-} status
  status=$(curl --silent --show-error --max-time 30 --retry 5 --retry-all-errors \
    --output "$answer" --write-out '%{http_code}' \
    --request "$method" "$BASE_URL$path" \
    --header 'Content-Type: application/json' ${body:+--data "$body"} \
    --config - <<<"header = \"Authorization: Bearer $FULL_KEY\"")
  if [[ $status != 2?? ]]; then
    echo "$status $(<"$answer")" >&2
    return 1
  fi
  cat "$answer"
}

create() {
  jq -n --arg order "$1" --arg customer "$customer" \
    '{external_id: $order, from: {external_id: $customer}, custom_attributes: {plan: "pro"}}'
}

for order in 1 2 3; do
  id=$(api POST /conversations "$(create "$customer-order-$order")" | jq -r .id)
  echo "created $id"
done

# Sent again, a create finds what is there: a client that is in doubt just repeats it.
again=$(api POST /conversations "$(create "$customer-order-3")" | jq -r .id)
echo "replayed $again"

api GET "/conversations/$id" | jq -r '"read \(.external_id), \(.status)"'

# A merge: sets "seats", removes "plan", leaves other attributes alone.
api PUT "/conversations/$id" '{"custom_attributes": {"seats": 6, "plan": null}}' |
  jq -r '"attributes \(.custom_attributes | tojson)"'

search=$(jq -n --arg customer "$customer" '{
  query: {field: "contact.external_id", operator: "=", value: $customer},
  pagination: {per_page: 2, starting_after: null}}')
cursor=null
while [[ -n $cursor ]]; do
  page=$(api POST /conversations/search \
    "$(jq --argjson cursor "$cursor" '.pagination.starting_after = $cursor' <<<"$search")")
  jq -r '.conversations[] | "found \(.id)"' <<<"$page"
  cursor=$(jq '.pages.next.starting_after // empty' <<<"$page")
done
