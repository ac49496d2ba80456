# shellcheck shell=bash disable=SC2154,SC2034
# Another implementation of the API, in its own folder, as a target. docs/performance.md describes what its program
# `run` must do. It gets its own PostgreSQL, created and configured like the private stack's.

# A PostgreSQL alone under $1, with a supervisor like the stack's; prints its DATABASE_URL.
peer_postgres_up() (
  RUN_DIR=$1
  # The parts read these.
  here=$PWD/deploy/local
  die() {
    echo "bench: $*" >&2
    exit 1
  }
  for part in cells ports secrets tls services servers; do
    # shellcheck source=/dev/null
    . "$here/lib/$part.sh"
  done
  umask 027
  mkdir -p "$RUN_DIR"/{pids,log,start,secrets}
  chmod 700 "$RUN_DIR"/{start,secrets}
  ports_look
  free_port
  PORTS[postgres]=$REPLY
  postgres_prepare main >&2
  setsid "$BIN_DIR/supervisor" "$RUN_DIR" \
    </dev/null >>"$RUN_DIR/log/supervisor.log" 2>&1 &
  until postgres_answers postgres; do
    kill -0 $! || die "the peer's PostgreSQL did not start: see $RUN_DIR/log"
    sleep 0.05
  done
  database_url main admin
  echo "$REPLY"
)

# peer_up FOLDER: starts the peer and makes it a target.
peer_up() {
  local url port
  RUN_DIR=$peer_dir deploy/local/stack down
  rm -rf "$peer_dir"
  mkdir -p "$peer_dir"
  stacks+=("$peer_dir")
  url=$(peer_postgres_up "$peer_dir")
  port=$(deploy/local/stack free-port)
  "$1/run" "$port" "$url" >"$peer_dir/env" 2>"$peer_dir/run.log" || {
    tail -n 20 "$peer_dir/run.log" >&2
    exit 1
  }
  target "$peer_dir"
  peer_pid=$SERVER_PID
  printf '%s\n' "server $peer_pid" "postgres $(<"$peer_dir/pids/postgres")" >"$peer_dir/processes"
}
