# shellcheck shell=bash disable=SC2154
# TCP ports: free ones are picked once and kept in $RUN_DIR/ports, a line "NAME PORT" each.
#     postgres nats                   where these listen; cell2-postgres
#     gateway gateway_tls dashboard   where their first replica does; replica i adds i
#     NAME of a process               its admin listener: /livez /readyz /metrics
#
# CLAIMED has the owner of each port of this start; LISTENING, the ports in use; TAKEN, a line for each setting
# whose ports are another program's.
declare -A PORTS=() CLAIMED=() LISTENING=()
TAKEN=

ports_open() {
  local name port
  PORTS=()
  [[ -e $RUN_DIR/ports ]] || return 0
  while read -r name port; do
    PORTS[$name]=$port
  done <"$RUN_DIR/ports"
}

ports_save() {
  local name
  for name in "${!PORTS[@]}"; do
    echo "$name ${PORTS[$name]}"
  done | sort >"$RUN_DIR/ports.new"
  mv "$RUN_DIR/ports.new" "$RUN_DIR/ports"
}

# Finds the ports in use, on any address, for port_is_free.
ports_look() {
  local port
  LISTENING=()
  while read -r port; do
    LISTENING[$((16#$port))]=1
  done < <(sed -nE 's/^ *[0-9]+: [0-9A-F]+:([0-9A-F]+) [0-9A-F]+:0000 0A .*/\1/p' \
    /proc/net/tcp /proc/net/tcp6 2>/dev/null)
}

port_is_free() {
  [[ -z ${LISTENING[$1]-} ]]
}

# FIRST COUNT: whether none of the COUNT ports from FIRST on is in use or claimed.
ports_are_free() {
  local first=$1 count=$2 port
  for ((port = first; port < first + count; port++)); do
    [[ -z ${CLAIMED[$port]-} ]] && port_is_free "$port" || return 1
  done
}

# Sets REPLY to the first of COUNT free ports. Picks from below the kernel's ephemeral range, so that no client takes the port meanwhile, and never a port that a
# process of ours had before. Several consecutive ports have a range of their own: the caller may use them later,
# after single ones have been given away. Concurrent stacks with a PORT_SLICE each (0 to 19) never take the port of
# another stack's process that has just ended and is about to restart.
free_port() {
  local count=${1:-1} least=20000 width=8900 first i
  ((count == 1)) || least=11000 # browsers refuse 10080
  [[ -z ${PORT_SLICE-} ]] || width=445 least=$((least + PORT_SLICE * 445))
  while :; do
    first=$((least + RANDOM % width))
    ports_are_free "$first" "$count" || continue
    for ((i = 0; i < count; i++)); do
      [[ " ${PORTS[*]-} " != *" $((first + i)) "* ]] || continue 2
    done
    REPLY=$first
    return
  done
}

# Gives NAME the COUNT ports from FIRST on, if the operator asks for any: they must be valid, or nothing starts. Ports
# in use are collected in TAKEN and reported together. A leading zero would mean octal later on.
ports_claim() {
  local name=$1 first=$2 count=$3 setting=${1^^}_PORT port
  [[ -n $first ]] || return 0
  [[ $first =~ ^[1-9][0-9]{0,4}$ && $first -le 65535 ]] ||
    die "$setting must be a number from 1 to 65535"
  [[ $((first + count)) -le 65536 ]] || die "$setting leaves no room for $count replicas below 65536"
  for ((port = first; port < first + count; port++)); do
    [[ -z ${CLAIMED[$port]-} ]] ||
      die "$setting and ${CLAIMED[$port]} overlap at port $port (replica i uses the port + i)"
    if ! port_is_free "$port"; then
      free_port "$count"
      TAKEN+="port $port is in use; choose another, as in $setting=$REPLY"$'\n'
      return
    fi
    CLAIMED[$port]=$setting
  done
  PORTS[$name]=$first
}

# Unless it was set, the dashboard's port gives way to ports that were.
dashboard_claim() {
  local count=${REPLICAS[dashboard]} first=8081 port owner=
  for ((port = first; port < first + count; port++)); do
    [[ -z ${CLAIMED[$port]-} ]] || owner=${CLAIMED[$port]} first=$((port + 1))
  done
  if [[ -n $owner ]]; then
    until ports_are_free "$first" "$count"; do
      first=$((first + 1))
    done
    [[ -n $TAKEN ]] || echo "the dashboard listens on port $first, because $owner takes its usual one"
  fi
  ports_claim dashboard "$first" "$count"
}

# Gives NAME, for which no port was set, its previous port if that is still free, else a new one.
port_keep() {
  local name=$1
  if [[ -z ${PORTS[$name]-} ]] || ! ports_are_free "${PORTS[$name]}" 1; then
    free_port
    PORTS[$name]=$REPLY
  fi
  CLAIMED[${PORTS[$name]}]=$name
}

# CELL SERVICE I
port_keep_admin() {
  port_keep "${IN_CELL[$1]}$2-$3"
}

# The ports that were requested, by a setting or by default.
ports_requested() {
  ports_look
  cells_check
  replicas_check
  CLAIMED=() TAKEN=
  unset "PORTS[gateway_tls]"
  ports_claim gateway "${GATEWAY_PORT:-8080}" "${REPLICAS[gateway]}"
  [[ ${GATEWAY_TLS_PORT-} == 0 ]] || ports_claim gateway_tls "${GATEWAY_TLS_PORT-}" "${REPLICAS[gateway]}"
  ports_claim dashboard "${DASHBOARD_PORT-}" "${REPLICAS[dashboard]}"
  ports_claim postgres "${POSTGRES_PORT-}" 1
  ports_claim nats "${NATS_PORT-}" 1
  [[ -n ${DASHBOARD_PORT-} ]] || dashboard_claim
  [[ -z $TAKEN ]] || die "${TAKEN%$'\n'}"
}

# Assigns all ports. Requested ones come first, so that no other program of the stack takes them.
ports_settle() {
  local cell
  ports_open
  ports_requested
  [[ -n ${POSTGRES_PORT-} ]] || port_keep postgres
  [[ -n ${NATS_PORT-} ]] || port_keep nats
  for cell in "${ALL_CELLS[@]:1}"; do
    port_keep "$cell-postgres"
  done
  for_each_replica port_keep_admin
  ports_save
}
