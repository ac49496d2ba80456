# shellcheck shell=bash disable=SC2154
# TCP ports: free ones are picked once and kept in $RUN_DIR/ports, a line "NAME PORT" each.
#     postgres nats gateway dashboard   where these listen (of the last two the first replica)
#     NAME of a process                 its admin listener: /livez /readyz /metrics
declare -A PORTS=()

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

port_of() {
  echo "${PORTS[$1]}"
}

# Nobody listens there, on any address.
port_is_free() {
  local hex
  printf -v hex '%04X' "$1"
  ! grep -qE ":$hex [0-9A-F]+:0000 0A " /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# Below the range that the kernel hands out to clients, so that none takes it meanwhile.
free_port() {
  local count=${1:-1} first i
  while :; do
    first=$((20000 + RANDOM % 12000))
    for ((i = 0; i < count; i++)); do
      port_is_free $((first + i)) || continue 2
      [[ " ${PORTS[*]-} " != *" $((first + i)) "* ]] || continue 2
    done
    echo "$first"
    return
  done
}

# Settles the port of NAME: what the operator asks for must be free; else the one it had, if that
# still is; else a new one.
port_choose() {
  local name=$1 asked=${2-} count=${3:-1} i
  if [[ -n $asked ]]; then
    for ((i = 0; i < count; i++)); do
      port_is_free $((asked + i)) ||
        die "port $((asked + i)) is in use; choose another for $name, as in ${name^^}_PORT=$(free_port "$count")"
    done
    PORTS[$name]=$asked
  elif [[ -z ${PORTS[$name]-} ]] || ! port_is_free "${PORTS[$name]}"; then
    PORTS[$name]=$(free_port)
  fi
}
