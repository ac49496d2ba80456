# shellcheck shell=bash disable=SC2154
# The plan: which programs run, how many of each, and with which settings. A program missing from BIN_DIR is left out.
# The gateways come last, so they are the first to stop.
WITH_DATABASE=(access conversation search audit webhook)
SERVICES=("${WITH_DATABASE[@]}" dashboard gateway)

declare -A REPLICAS=() # by service, how many run; 0 if the program is missing

# Sets REPLY to TEXT, quoted for a shell.
quote() {
  REPLY="'${1//\'/\'\\\'\'}'"
}

# A line of the supervisor's plan: KIND NAME STOP ORPHAN GRACE.
plan() {
  echo "$*" >>"$RUN_DIR/plan"
}

# NAME COMMAND [SETTING=VALUE...]: how the process NAME starts. Secrets are passed in its environment, which only its
# owner can read, never in its arguments.
start_script() {
  local setting script=
  for setting in "${@:3}"; do
    quote "${setting#*=}"
    script+="export ${setting%%=*}=$REPLY"$'\n'
  done
  write_private "$RUN_DIR/start/$1" "$script$2"$'\n'
}

# The supervisor has room for 128 lines: besides the replicas, one for nats-server, and those of each cell's
# PostgreSQL and migrate.
REPLICAS_MAX=127

# Sets REPLICAS.
replicas_check() {
  local service variable n sum=$((2 * ${#ALL_CELLS[@]}))
  for service in "${SERVICES[@]}"; do
    variable=REPLICAS_${service^^} n=0
    [[ ! -x $BIN_DIR/$service ]] || n=${!variable:-1}
    [[ $n =~ ^(0|[1-9][0-9]?)$ ]] || die "$variable must be a number from 0 to 99"
    REPLICAS[$service]=$n
  done
  for_each_replica count_one
  [[ $sum -le $REPLICAS_MAX ]] ||
    die "REPLICAS_* ask for $sum processes in total; the maximum is $REPLICAS_MAX"
}

count_one() {
  sum=$((sum + 1))
}

# COMMAND: runs COMMAND CELL SERVICE I for each replica. Services of the directory and the edge run once, as if in main.
for_each_replica() {
  local service cell i cells
  for service in "${SERVICES[@]}"; do
    cells=(main)
    [[ " ${OF_CELL[*]} " != *" $service "* ]] || cells=("${ALL_CELLS[@]}")
    for cell in "${cells[@]}"; do
      for ((i = 0; i < REPLICAS[$service]; i++)); do
        "$1" "$cell" "$service" "$i"
      done
    done
  done
}

# SETTING: adds the key to `settings`: the operator's, or a secret of the same name.
add_key() {
  local name=${1,,}
  name=${name//_/-}
  [[ -n ${!1-} ]] || secret "$name"
  settings+=("$1=${!1:-${SECRETS[$name]}}")
}

# CELL SERVICE I
service_prepare() {
  local cell=$1 service=$2 i=$3 name=${IN_CELL[$1]}$2-$3 cells settings
  nats_url "${IN_CELL[$cell]}$service"
  settings=("NATS_URL=$REPLY" "SERVICE_INSTANCE=$i" "ADMIN_ADDRESS=127.0.0.1" "ADMIN_PORT=${PORTS[$name]}")
  ! wants_tls || settings+=("${TLS_BUS_SETTINGS[@]}")
  if [[ " ${WITH_DATABASE[*]} " == *" $service "* ]]; then
    database_url "$cell" "conv_$service"
    settings+=("DATABASE_URL=$REPLY")
  fi
  [[ " ${OF_CELL[*]} " != *" $service "* ]] || settings+=("CELL=$cell")
  case $service in
  access)
    cells="${ALL_CELLS[*]}"
    settings+=("CELL_NAMES=${CELL_NAMES:-${cells// /,}}")
    ;;
  gateway)
    settings+=("GATEWAY_PORT=$((PORTS[gateway] + i))")
    [[ -z ${PORTS[gateway_tls]-} ]] || settings+=("GATEWAY_TLS_PORT=$((PORTS[gateway_tls] + i))")
    ;;
  audit) add_key CURSOR_KEY && add_key AUDIT_SIGNING_KEY ;;
  search) add_key CURSOR_KEY ;;
  webhook) add_key WEBHOOK_SECRET_KEY ;;
  dashboard)
    settings+=("DASHBOARD_PORT=$((PORTS[dashboard] + i))"
      "PUBLIC_BASE_URL=${PUBLIC_BASE_URL:-http://127.0.0.1:${PORTS[gateway]}/api/v1}")
    ;;
  esac
  quote "$BIN_DIR/$service"
  start_script "$name" "exec $REPLY" "${settings[@]}"
  plan service "$name" TERM KILL 10
}

# CELL. A cell's database has all schemas; that of access is used only in main.
migrate_prepare() {
  local cell=$1 service settings
  database_url "$cell" admin
  settings=("DATABASE_URL=$REPLY")
  for service in "${WITH_DATABASE[@]}"; do
    database_password "$cell" "conv_$service"
    settings+=("${service^^}_DB_PASSWORD=$REPLY")
  done
  quote "$BIN_DIR/migrate"
  start_script "${IN_CELL[$cell]}migrate" "exec $REPLY" "${settings[@]}"
  plan task "${IN_CELL[$cell]}migrate" TERM KILL 10
}

services_prepare() {
  local cell
  for cell in "${ALL_CELLS[@]}"; do
    migrate_prepare "$cell"
  done
  for_each_replica service_prepare
}

# "NAME PORT" of every process in the plan that has an admin listener.
services_admin_ports() {
  local kind name
  while read -r kind name _; do
    [[ $kind == task || $name == *postgres || $name == nats ]] || echo "$name ${PORTS[$name]}"
  done <"$RUN_DIR/plan"
}
