# shellcheck shell=bash disable=SC2154
# The plan: which programs run, how many of each, and with which settings. A program missing from BIN_DIR is left out.
# The gateways come last, so they are the first to stop.
WITH_DATABASE=(access conversation search audit webhook)
SERVICES=("${WITH_DATABASE[@]}" dashboard gateway)

quote() {
  printf "'%s'" "${1//\'/\'\\\'\'}"
}

# A line of the supervisor's plan: KIND NAME STOP ORPHAN GRACE.
plan() {
  echo "$*" >>"$RUN_DIR/plan"
}

# Secrets are passed in a process's environment, which only its owner can read, never in its arguments.
start_script() {
  (umask 077 && printf '%s\n' "$2" >"$RUN_DIR/start/$1")
}

exports() {
  local pair
  for pair in "$@"; do
    echo "export ${pair%%=*}=$(quote "${pair#*=}")"
  done
}

# The number of replicas of a program, 0 if it is missing.
replicas_of() {
  local variable=REPLICAS_${1^^}
  if [[ -x $BIN_DIR/$1 ]]; then
    echo "${!variable:-1}"
  else
    echo 0
  fi
}

# The supervisor has room for 128 lines: besides the replicas, one for nats-server, and those of each cell's
# PostgreSQL and migrate.
REPLICAS_MAX=127

replicas_check() {
  local service cell n sum=$((2 * ${CELLS:-1}))
  for service in "${SERVICES[@]}"; do
    n=$(replicas_of "$service")
    [[ $n =~ ^(0|[1-9][0-9]?)$ ]] || die "REPLICAS_${service^^} must be a number from 0 to 99"
    for cell in $(cells_of "$service"); do
      sum=$((sum + n))
    done
  done
  [[ $sum -le $REPLICAS_MAX ]] ||
    die "REPLICAS_* ask for $sum processes in total; the maximum is $REPLICAS_MAX"
}

# CELL SERVICE I
service_prepare() {
  local cell=$1 service=$2 i=$3 name
  name=$(in_cell "$cell" "$service-$i")
  local settings=("NATS_URL=$(nats_url "$(in_cell "$cell" "$service")")" "SERVICE_INSTANCE=$i"
    "ADMIN_ADDRESS=127.0.0.1" "ADMIN_PORT=$(port_of "$name")")
  local line
  while read -r line; do
    settings+=("$line")
  done < <(tls_bus_settings)

  [[ " ${WITH_DATABASE[*]} " != *" $service "* ]] ||
    settings+=("DATABASE_URL=$(database_url "$cell" "conv_$service")")
  [[ " ${OF_CELL[*]} " != *" $service "* ]] || settings+=("CELL=$cell")
  case $service in
  access) settings+=("CELL_NAMES=${CELL_NAMES:-$(cells | paste -sd,)}") ;;
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

# CELL. A cell's database has all schemas; that of access is used only in main.
migrate_prepare() {
  local cell=$1 service name settings
  name=$(in_cell "$cell" migrate)
  settings=("DATABASE_URL=$(database_url "$cell" admin)")
  for service in "${WITH_DATABASE[@]}"; do
    settings+=("${service^^}_DB_PASSWORD=$(database_password "$cell" "conv_$service")")
  done
  start_script "$name" "$(exports "${settings[@]}")
exec $(quote "$BIN_DIR/migrate")"
  plan task "$name" TERM KILL 10
}

services_prepare() {
  local service cell i n
  for cell in $(cells); do
    migrate_prepare "$cell"
  done
  for service in "${SERVICES[@]}"; do
    n=$(replicas_of "$service")
    for cell in $(cells_of "$service"); do
      for ((i = 0; i < n; i++)); do
        service_prepare "$cell" "$service" "$i"
      done
    done
  done
}

# "NAME PORT" of every process in the plan that has an admin listener.
services_admin_ports() {
  local kind name
  while read -r kind name _; do
    [[ $kind == task || $name == *postgres || $name == nats ]] || echo "$name $(port_of "$name")"
  done <"$RUN_DIR/plan"
}
