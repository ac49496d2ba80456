# shellcheck shell=bash disable=SC2154
# The plan: which programs run, how often and with which settings. A program that BIN_DIR does not
# have is left out. The gateways come last, so they are the first to stop.
WITH_DATABASE=(access conversation search audit webhook)
SERVICES=("${WITH_DATABASE[@]}" dashboard gateway)

quote() {
  printf "'%s'" "${1//\'/\'\\\'\'}"
}

# A line of the supervisor's plan: KIND NAME STOP ORPHAN GRACE.
plan() {
  echo "$*" >>"$RUN_DIR/plan"
}

# Secrets reach a process by its environment, which only its owner can read, never by its arguments.
start_script() {
  (umask 077 && printf '%s\n' "$2" >"$RUN_DIR/start/$1")
}

exports() {
  local pair
  for pair in "$@"; do
    echo "export ${pair%%=*}=$(quote "${pair#*=}")"
  done
}

# Of a program that is there.
replicas_of() {
  local variable=REPLICAS_${1^^}
  if [[ -x $BIN_DIR/$1 ]]; then
    echo "${!variable:-1}"
  else
    echo 0
  fi
}

# The supervisor has room for 128 lines: beside these, PostgreSQL, nats-server and migrate have one.
REPLICAS_MAX=125

replicas_check() {
  local service n sum=0
  for service in "${SERVICES[@]}"; do
    n=$(replicas_of "$service")
    [[ $n =~ ^(0|[1-9][0-9]?)$ ]] || die "REPLICAS_${service^^} must be a number from 0 to 99"
    sum=$((sum + n))
  done
  [[ $sum -le $REPLICAS_MAX ]] ||
    die "REPLICAS_* ask for $sum processes in all; $REPLICAS_MAX are the most"
}

service_prepare() {
  local service=$1 i=$2 name=$1-$2
  local settings=("NATS_URL=$(nats_url "$service")" "SERVICE_INSTANCE=$i"
    "ADMIN_ADDRESS=127.0.0.1" "ADMIN_PORT=$(port_of "$name")")
  local line
  while read -r line; do
    settings+=("$line")
  done < <(tls_bus_settings)

  [[ " ${WITH_DATABASE[*]} " != *" $service "* ]] ||
    settings+=("DATABASE_URL=$(database_url "conv_$service")")
  case $service in
  gateway)
    settings+=("GATEWAY_PORT=$(($(port_of gateway) + i))")
    [[ -z ${PORTS[gateway_tls]-} ]] ||
      settings+=("GATEWAY_TLS_PORT=$(($(port_of gateway_tls) + i))")
    ;;
  audit)
    settings+=("CURSOR_KEY=${CURSOR_KEY:-$(secret cursor-key)}"
      "AUDIT_SIGNING_KEY=${AUDIT_SIGNING_KEY:-$(secret audit-signing-key)}")
    ;;
  search) settings+=("CURSOR_KEY=${CURSOR_KEY:-$(secret cursor-key)}") ;;
  webhook) settings+=("WEBHOOK_SECRET_KEY=${WEBHOOK_SECRET_KEY:-$(secret webhook-secret-key 32)}") ;;
  dashboard)
    settings+=("DASHBOARD_PORT=$(($(port_of dashboard) + i))"
      "PUBLIC_BASE_URL=${PUBLIC_BASE_URL:-http://127.0.0.1:$(port_of gateway)/api/v1}")
    ;;
  esac
  start_script "$name" "$(exports "${settings[@]}")
exec $(quote "$BIN_DIR/$service")"
  plan service "$name" TERM KILL 10
}

migrate_prepare() {
  local service settings=("DATABASE_URL=$(database_url admin)")
  for service in "${WITH_DATABASE[@]}"; do
    settings+=("${service^^}_DB_PASSWORD=$(secret "database-conv_$service")")
  done
  start_script migrate "$(exports "${settings[@]}")
exec $(quote "$BIN_DIR/migrate")"
  plan task migrate TERM KILL 10
}

services_prepare() {
  local service i n
  migrate_prepare
  for service in "${SERVICES[@]}"; do
    n=$(replicas_of "$service")
    for ((i = 0; i < n; i++)); do
      service_prepare "$service" "$i"
    done
  done
}

# "NAME PORT" of every process in the plan that has an admin listener.
services_admin_ports() {
  local kind name
  while read -r kind name _; do
    [[ $kind == task || $name == postgres || $name == nats ]] || echo "$name $(port_of "$name")"
  done <"$RUN_DIR/plan"
}
