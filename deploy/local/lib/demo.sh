# shellcheck shell=bash
# The demo organization and $RUN_DIR/env. What is created once is kept in secrets/demo.

demo_create() {
  local org full read owner ctl=$BIN_DIR/convctl email=owner@demo.example
  org=$("$ctl" org create --name "Demo" --plan growth | jq -er .id) &&
    full=$("$ctl" key create --org "$org" --name "demo, full" --scope full | jq -er .token) &&
    read=$("$ctl" key create --org "$org" --name "demo, read" --scope read | jq -er .token) &&
    owner=$("$ctl" user create --org "$org" --email "$email" --role owner | jq -er .password) ||
    return
  quote "$owner"
  printf '%s\n' "ORG_ID=$org" "FULL_KEY=$full" "READ_KEY=$read" \
    "OWNER_EMAIL=$email" "OWNER_PASSWORD=$REPLY"
}

# Renamed into place when complete: a reader never sees a partial file.
demo_prepare() {
  local NATS_URL tls=() url databases
  ! wants_tls || tls=("${TLS_BUS_SETTINGS[@]}")
  nats_url admin
  export NATS_URL=$REPLY "${tls[@]}"
  database_url main admin
  url=$REPLY
  cell_databases
  databases=$REPLY
  exec 8>"$RUN_DIR/up.lock"
  flock 8
  umask 077
  if [[ ! -s $RUN_DIR/secrets/demo ]]; then
    demo_create 8>&- >"$RUN_DIR/secrets/demo.new" || die "the demo organization could not be created"
    mv "$RUN_DIR/secrets/demo.new" "$RUN_DIR/secrets/demo"
  fi
  {
    echo "BASE_URL=http://127.0.0.1:${PORTS[gateway]}/api/v1"
    echo "DASHBOARD_URL=http://127.0.0.1:${PORTS[dashboard]}"
    printf 'CELL_DATABASES=%q\n' "$databases"
    printf '%q\n' "DATABASE_URL=$url" "NATS_URL=$NATS_URL" "${tls[@]}"
    cat "$RUN_DIR/secrets/demo"
  } >"$RUN_DIR/env.new"
  mv "$RUN_DIR/env.new" "$RUN_DIR/env"
  exec 8>&-
}
