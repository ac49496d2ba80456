# shellcheck shell=bash disable=SC2154,SC2034
# BENCH_MODE=cells: the cost of a second cell, and whether it is affected if another one loses its database. Two
# organizations are served by one cell, and by one cell each, measured in turn; then requests of one organization are
# measured while the other's PostgreSQL runs, and while it is killed. Takes 5 minutes.
#
#     CELLS_OPERATIONS  "ping get search create update mix"
#     CELLS_RATE        requests a second: if two cells could do more than one, the CPU time of a request is compared
#                       at the same rate (2000; 0: as many as possible)
#     CELLS_EACH=1      the same rate for each cell, so twice as many requests for two cells as for one; then only the
#                       CPU time of a request is compared
#     CELLS_APART=1     the second cell on its own core and everything else on another, as on two machines;
#                       then only the loss of the database is measured
# and BENCH_SECONDS, BENCH_CONNECTIONS (64) and BENCH_ROUNDS (3).

# cells_organization CELL: creates an organization with 20,000 conversations; its keys become a line of `keys`, and
# the conversations' ids become lines of `ids`.
cells_organization() {
  local id full read number
  id=$("$BIN_DIR/convctl" org create --name "In $1" --plan enterprise --cell "$1" | jq -er .id)
  "$BIN_DIR/convctl" org set "$id" --rate-limit 1000000 >/dev/null
  full=$("$BIN_DIR/convctl" key create --org "$id" --name full --scope full | jq -er .token)
  read=$("$BIN_DIR/convctl" key create --org "$id" --name read --scope read | jq -er .token)
  echo "$full $read" >"$RUN_DIR/keys"
  load fill 32 600 || {
    cat "$RUN_DIR/wrk.err" >&2
    exit 1
  }
  cat "$RUN_DIR/keys" >>"$RUN_DIR/keys.all"
  number=$(wc -l <"$RUN_DIR/keys.all")
  sed "s/\$/ $number/" "$RUN_DIR/ids" >>"$RUN_DIR/ids.all"
}

# cells_stack DIR CELL CELL: a stack with an organization in each of these cells, which may be the same.
cells_stack() {
  stack_up "$1"
  cells_organization "$2"
  cells_organization "$3"
  cells_take all
}

# cells_take all|1|2: the organizations that requests are for.
cells_take() {
  case $1 in
  all)
    cp "$RUN_DIR/keys.all" "$RUN_DIR/keys"
    shuf "$RUN_DIR/ids.all" >"$RUN_DIR/ids"
    ;;
  *)
    sed -n "$1p" "$RUN_DIR/keys.all" >"$RUN_DIR/keys"
    sed -n "s/ $1\$//p" "$RUN_DIR/ids.all" | shuf >"$RUN_DIR/ids"
    ;;
  esac
}

# Requests for the organization in the second cell, while the other one is measured, so that requests which wait for a
# lost database are present.
cells_beside() {
  local seconds=$1
  mkdir -p "$RUN_DIR/beside"
  sed -n 2p "$RUN_DIR/keys.all" >"$RUN_DIR/beside/keys"
  sed -n 's/ 2$//p' "$RUN_DIR/ids.all" >"$RUN_DIR/beside/ids"
  RUN_DIR=$RUN_DIR/beside RATE=${RATE:+$((RATE / 4))} load mix 16 "$seconds" || true
}

# Waits until the PostgreSQL of the second cell is back.
cells_wait() {
  local url=${CELL_DATABASES##*cell2=} i
  for ((i = 0; i < 300; i++)); do
    psql -qX "$url" -c '' 2>/dev/null && return
    sleep 0.1
  done
  echo "bench: the PostgreSQL of cell2 did not come back in 30 s" >&2
  exit 1
}

# Kills the PostgreSQL of the second cell once a measurement that begins now has warmed up.
cells_kill() {
  sleep "$((warmup + 1))"
  kill -KILL "$(<"$RUN_DIR/pids/cell2-postgres")"
}

# Everything started from here on runs on the first core.
cells_crowd() {
  taskset -pc 0 $$ >/dev/null
}

# The processes of the second cell run on the second core, also after a restart.
cells_part() {
  local name pid
  for name in "$RUN_DIR"/start/cell2-*; do
    [[ -e $RUN_DIR/pids/${name##*/} ]] || continue # a task, which has ended
    sed -i '1i taskset -pc 1 $$ >/dev/null' "$name"
    pid=$(<"$RUN_DIR/pids/${name##*/}")
    for pid in "$pid" $(pgrep -P "$pid"); do
      taskset -apc 1 "$pid" >/dev/null
    done
  done
}

# The same requests for the organization in main, without and with a neighbour that loses its database.
cells_neighbour() {
  local operation n round killer beside
  cells_take 1
  for operation in "${operations[@]}"; do
    for n in "${connections[@]}"; do
      for ((round = 1; round <= ${BENCH_ROUNDS:-3}; round++)); do
        cells_beside "$((2 * (seconds + warmup) + 1))" &
        beside=$!
        measure well "$operation" "$n" "$round"
        cells_kill &
        killer=$!
        measure killed "$operation" "$n" "$round"
        wait "$killer" "$beside"
        cells_wait
      done
    done
  done
  ratios killed well
}

cells_bench() {
  local one=$PWD/build/bench-one-run two=$PWD/build/bench-two-run
  read -ra operations <<<"${CELLS_OPERATIONS:-ping get search create update mix}"
  read -ra connections <<<"${BENCH_CONNECTIONS:-64}"
  [[ -z ${CELLS_APART-} ]] || cells_crowd
  CELLS=2 cells_stack "$two" main cell2
  [[ -n ${CELLS_APART-} ]] || CELLS=1 cells_stack "$one" main main
  [[ ${CELLS_RATE:-2000} == 0 ]] || export RATE=${CELLS_RATE:-2000}
  echo "$about; ${RATE:-any} requests a second"
  if [[ -n ${CELLS_APART-} ]]; then
    cells_part
  else
    if [[ -n ${CELLS_EACH-} ]]; then
      echo "RATE=${RATE:?CELLS_EACH needs a rate}" >>"$one/env"
      echo "RATE=$((2 * RATE))" >>"$two/env"
    fi
    measure_in_turn two "$two" one "$one"
    ratios two one
    [[ -z ${CELLS_EACH-} ]] || return 0
    target "$two"
  fi
  cells_neighbour
}
