# shellcheck shell=bash disable=SC2154,SC2034
# BENCH_MODE=growth: compares the cost of a request with large tables and with small ones, measured in
# turn on two private stacks of 50 organizations each; then shows the effects of updates. Takes half
# an hour or more, and 15 GB below build/.
#
#     GROWTH_SIZES       conversations, and audit entries, of both (100000 10000000); 100 of each contact
#     GROWTH_OPERATIONS  "get search create update audit inbox usage statistics"
#     GROWTH_UPDATES     of the large one (1000000)
#     GROWTH_KEEP        1: use the data of the last run if there is any, and keep it
# and BENCH_SECONDS, BENCH_CONNECTIONS (16) and BENCH_ROUNDS (3).
read -ra sizes <<<"${GROWTH_SIZES:-100000 10000000}"
organizations=50

query() {
  psql -qAtX -v ON_ERROR_STOP=1 "$DATABASE_URL" -c "$1"
}

# Organizations with a key of each scope; the lines of `organizations` and `keys` correspond.
growth_organizations() {
  local i id
  for ((i = 0; i < organizations; i++)); do
    id=$("$BIN_DIR/convctl" org create --name "Organization $i" --plan enterprise | jq -er .id)
    "$BIN_DIR/convctl" org set "$id" --rate-limit 1000000 >/dev/null
    echo "$id" >>"$RUN_DIR/organizations"
    echo "$("$BIN_DIR/convctl" key create --org "$id" --name full --scope full | jq -er .token)" \
      "$("$BIN_DIR/convctl" key create --org "$id" --name read --scope read | jq -er .token)" \
      >>"$RUN_DIR/keys"
  done
}

# Up to 100,000 conversations from all over the table, with the number of their organization's line.
growth_ids() {
  local list
  list="{$(paste -sd, "$RUN_DIR/organizations")}"
  query "SELECT id, array_position('$list'::uuid[], organization_id)
           FROM conversation.conversations TABLESAMPLE BERNOULLI (least(100, 10000000.0 / $1))" |
    tr '|' ' ' | shuf >"$RUN_DIR/ids"
}

growth_settled() {
  until [[ $(query "SELECT count(*) FROM audit.entries WHERE xid > (SELECT last_xid FROM audit.blocks
      ORDER BY last_xid DESC, organization_id DESC, number DESC LIMIT 1)") -lt 100 ]]; do
    sleep 1
  done
}

growth_fill() {
  local from=$SECONDS part parts=()
  growth_organizations
  for part in conversations entries; do
    psql -qX -v ON_ERROR_STOP=1 -v part="$part" -v rows="$1" \
      -v organizations="{$(paste -sd, "$RUN_DIR/organizations")}" "$DATABASE_URL" \
      -f tools/bench.d/growth.sql &
    parts+=($!)
  done
  for part in "${parts[@]}"; do
    wait "$part"
  done
  growth_settled
  query "VACUUM ANALYZE"
  query "CHECKPOINT"
  growth_ids "$1"
  touch "$RUN_DIR/filled"
  echo "bench: $1 conversations and audit entries made in $((SECONDS - from)) s" >&2
}

# The cookie of a new user of the first organization.
growth_sign_in() {
  local email=owner-$RANDOM$RANDOM@bench.example
  "$BIN_DIR/convctl" user create --org "$(head -n 1 "$RUN_DIR/organizations")" --email "$email" --role owner |
    jq --arg email "$email" '{email: $email, password: .password}' |
    curl -sS -o /dev/null -D - "$DASHBOARD_URL/data/session" -H "Origin: $DASHBOARD_URL" \
      -H 'Content-Type: application/json' -d @- |
    sed -nE 's/^set-cookie: (session=[^;]*).*/\1/Ip'
}

# growth_stack DIR SIZE
growth_stack() {
  if [[ ${GROWTH_KEEP-} == 1 && -e $1/filled ]]; then
    stack_again "$1"
  else
    stack_up "$1"
    growth_fill "$2"
  fi
  COOKIE=$(growth_sign_in)
  echo "COOKIE=$COOKIE CONTACTS=$(($2 / organizations / 100))" >>"$1/env"
}

# The sizes of growing tables, in MB, and PostgreSQL's statistics of updates and vacuum.
growth_sizes() {
  query "SELECT format('%-28s %6s MB, indexes %6s MB', relid::regclass, pg_table_size(relid) / 1048576,
                       pg_indexes_size(relid) / 1048576) ||
                CASE WHEN n_tup_upd > 0
                     THEN format('; of %s updates %s%% without indexes; %s dead rows; autovacuum %s times',
                                 n_tup_upd, 100 * n_tup_hot_upd / n_tup_upd, n_dead_tup, autovacuum_count)
                     ELSE '' END
           FROM pg_stat_user_tables
          WHERE relid = ANY (ARRAY['conversation.conversations', 'conversation.contacts']::regclass[])
             OR schemaname = 'audit' AND relname ~ '^(entries_20|blocks)' AND n_live_tup > 0
          ORDER BY 1"
  query "SELECT format('%-44s %6s MB', indexrelid::regclass, pg_relation_size(indexrelid) / 1048576)
           FROM pg_stat_user_indexes WHERE relid = 'conversation.conversations'::regclass ORDER BY 1"
}

growth() {
  local small=$PWD/build/bench-small-run large=$PWD/build/bench-large-run from
  read -ra operations <<<"${GROWTH_OPERATIONS:-get search create update audit inbox usage statistics}"
  read -ra connections <<<"${BENCH_CONNECTIONS:-16}"
  # One user requests its pages, far more often than any person would.
  export DASHBOARD_REQUESTS_PER_SECOND=100000
  growth_stack "$small" "${sizes[0]}"
  growth_stack "$large" "${sizes[1]}"
  echo "$about; small ${sizes[0]}, large ${sizes[1]} conversations"
  measure_in_turn small "$small" large "$large"
  ratios large small
  target "$large"
  growth_sizes
  [[ ${GROWTH_UPDATES:-1000000} != 0 ]] || return 0
  from=$SECONDS
  psql -qX -v ON_ERROR_STOP=1 -v updates="${GROWTH_UPDATES:-1000000}" "$DATABASE_URL" \
    -f tools/bench.d/growth_updates.sql
  echo "after ${GROWTH_UPDATES:-1000000} updates in $((SECONDS - from)) s:"
  growth_sizes
  : >"$results"
  measure_in_turn small "$small" large "$large"
  ratios large small
}
