# shellcheck shell=bash disable=SC2154
# Shared by the modes of tools/bench. A target is a service to be measured: a folder with
#     env         BASE_URL FULL_KEY READ_KEY, for the shell
#     processes   a line "NAME PID" for each process whose CPU time counts, with that of its descendants
#     ids         the conversations that requests are for
#     keys        with several organizations: the two keys of each
# and each measurement appends a line to $results:
#     target operation connections round requests failed seconds p50 p99 NAME=us ... wrk=us all=us
# p50 and p99 are milliseconds; NAME=us is the CPU time of one request; `all` does not include wrk's.

results=build/bench-results
tick_us=$((1000000 / $(getconf CLK_TCK)))

# stack_up RUN_DIR: a new private stack there, as a target.
stack_up() {
  RUN_DIR=$1 deploy/local/stack down
  rm -rf "$1"
  stack_again "$1"
}

# The same with existing data.
stack_again() {
  local port file name
  export RUN_DIR=$1
  deploy/local/stack down
  stacks+=("$RUN_DIR")
  port=$(deploy/local/stack free-port 12)
  GATEWAY_PORT=$port DASHBOARD_PORT=$((port + 11)) deploy/local/stack up >build/bench.log 2>&1 || {
    tail -n 20 build/bench.log >&2
    exit 1
  }
  for file in "$RUN_DIR"/pids/*; do
    name=${file##*/}
    echo "${name%-*} $(<"$file")"
  done >"$RUN_DIR/processes"
  target "$RUN_DIR"
  "$BIN_DIR/convctl" org set "$ORG_ID" --rate-limit "${BENCH_RATE_LIMIT:-1000000}" >/dev/null
}

stacks=()
stacks_down() {
  local folder
  for folder in "${stacks[@]}"; do
    RUN_DIR=$folder deploy/local/stack down
  done
}

# Selects the target in this folder for what follows.
target() {
  export RUN_DIR=$1
  set -a
  # shellcheck source=/dev/null
  . "$RUN_DIR/env"
  set +a
}

# The CPU time of each name in the target's `processes`, in ticks: "NAME TICKS" a line.
cpu_ticks() {
  cat /proc/[0-9]*/stat 2>/dev/null | awk -v list="$RUN_DIR/processes" '
    BEGIN {
      while ((getline line < list) > 0) {
        split(line, part, " ")
        name[part[2]] = part[1]
        sum[part[1]] += 0
      }
    }
    {
      pid = $1
      sub(/^.*\) /, "") # the name in brackets may have blanks
      parent[pid] = $2
      used[pid] = $12 + $13 + $14 + $15 # utime stime cutime cstime
    }
    END {
      for (pid in used) {
        for (at = pid; at > 1 && !(at in name); at = parent[at]);
        if (at in name) sum[name[at]] += used[pid]
      }
      for (each in sum) print each, sum[each]
    }' | sort || true
}

# load OPERATION CONNECTIONS SECONDS: wrk against the target; its output goes to wrk.err.
load() {
  local url=${BASE_URL%/api/v1} keys=$RUN_DIR/keys
  [[ -e $keys ]] || keys=/dev/null
  [[ $1 != inbox && $1 != usage && $1 != statistics ]] || url=$DASHBOARD_URL
  OPERATION=$1 CONNECTIONS=$2 RUN="$1-$2-$$-$RANDOM$RANDOM" IDS=$RUN_DIR/ids KEYS=$keys \
    wrk -t "$((threads < $2 ? threads : $2))" -c "$2" -d "${3}s" --timeout 10s \
    -s tools/bench.d/api.lua "$url" >"$RUN_DIR/wrk.out" 2>"$RUN_DIR/wrk.err"
}

# measure TARGET OPERATION CONNECTIONS ROUND
measure() {
  local name=$1 operation=$2 n=$3 round=$4 TIMEFORMAT='%U %S' before
  echo "bench: $name $operation $n" >&2
  [[ $warmup == 0 ]] || load "$operation" "$((n < 16 ? n : 16))" "$warmup" || true
  before=$(cpu_ticks)
  { time load "$operation" "$n" "$seconds" || true; } 2>"$RUN_DIR/wrk.time"
  grep '^failed: ' "$RUN_DIR/wrk.err" >&2 || true
  {
    echo "$before"
    echo
    cpu_ticks
    echo
    tail -n 1 "$RUN_DIR/wrk.err"
    cat "$RUN_DIR/wrk.time"
  } | awk -v tick="$tick_us" -v what="$name $operation $n $round" '
    NF == 0 { part++; next }
    !part { at[$1] = $2; order[++names] = $1; next }
    part == 1 { at[$1] = $2 - at[$1]; next }
    !result { result = NF == 5 ? $0 : "0 1 1 0 0"; split(result, field, " "); next }
    {
      requests = field[1] > 0 ? field[1] : 1
      line = what " " result
      for (i = 1; i <= names; i++) {
        all += at[order[i]] * tick
        line = line sprintf(" %s=%.1f", order[i], at[order[i]] * tick / requests)
      }
      printf "%s wrk=%.1f all=%.1f\n", line, ($1 + $2) * 1000000 / requests, all / requests
    }' | tee -a "$results" | awk '$5 < 1 { print "bench: nothing was measured:", $0 }' >&2
}

# table TARGET NAME...: the medians of a target's rounds; CPU of each name.
table() {
  printf '%-15s %5s %9s %8s %8s %7s ' "$1" conns req/s 'p50 ms' 'p99 ms' failed
  printf ' %8.8s' "${@:2}"
  echo
  awk -v target="$1" -v names="${*:2}" -f tools/bench.d/tables.awk "$results"
}

# ratios A B: the medians of A compared with those of B.
ratios() {
  printf '%-15s %5s %9s %9s %6s %9s %9s %6s %6s %6s %7s\n' "$1/$2" conns "req/s $1" "$2" ratio \
    "CPU $1" "$2" ratio p50 p99 failed
  awk -v target="$1" -v other="$2" -f tools/bench.d/tables.awk "$results"
}
