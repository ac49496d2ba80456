# shellcheck shell=bash
# The servers that the services need, on loopback only: a PostgreSQL for each cell, and nats-server.
#
# PostgreSQL refuses to run as root, and the other user may have no access to the path of RUN_DIR (below /root, for
# example). So root opens the folder as descriptor 9 and PostgreSQL finds its data through /proc/self/fd/9, which
# needs no access to the parent folders and no capability.
# shellcheck source=tools/postgres-bin.sh
. "${BASH_SOURCE[0]%/*}/../../../tools/postgres-bin.sh"
PGDATA_VIA_FD=/proc/self/fd/9/data
DATABASE=conversations

postgres_owner=$(id -un)
as_postgres=()
if [[ $EUID -eq 0 ]]; then
  postgres_owner=postgres
  as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups --no-new-privs)
fi

# CELL USER: these three set REPLY.
database_url() {
  local query=
  ! wants_tls || query=$(tls_database_query)
  database_password "$1" "$2"
  REPLY="postgresql://$2:$REPLY@127.0.0.1:${PORTS[${IN_CELL[$1]}postgres]}/$DATABASE$query"
}

database_password() {
  local name=${IN_CELL[$1]}database-$2
  secret "$name"
  REPLY=${SECRETS[$name]}
}

nats_url() {
  secret "bus-$1"
  REPLY="nats://$1:${SECRETS[bus-$1]}@127.0.0.1:${PORTS[nats]}"
}

# The postmaster of the folder HOME, if it lives: its working folder distinguishes it from another process that got
# the same pid after a power loss.
postgres_pid() {
  local pid data=$1/data
  [[ -e $data/postmaster.pid ]] || return 1
  read -r pid <"$data/postmaster.pid"
  [[ /proc/$pid/cwd -ef $data ]] && echo "$pid"
}

# NAME, as in pids/.
postgres_answers() {
  "$POSTGRES_BIN/pg_isready" -q -h 127.0.0.1 -p "${PORTS[$1]}"
}

# Without a supervisor the servers have got SIGQUIT and are stopping.
postgres_wait_gone() {
  local home pid until=$((SECONDS + 15))
  for home in "$RUN_DIR"/{,*-}postgres; do
    while pid=$(postgres_pid "$home"); do
      [[ $SECONDS -lt $until ]] || kill -KILL "$pid" 2>/dev/null || true
      sleep 0.05
    done
    # Left behind by a crash; PostgreSQL itself would mistake another process for its owner.
    rm -f "$home/data/postmaster.pid"
  done
}

# initdb takes a second of CPU time. With STACK_TEMPLATE it runs once for all stacks: the first one saves its result
# there, and the others copy it and set their own password.
postgres_init() {
  local password=$1 fresh=$2/data.new template=${STACK_TEMPLATE-} lock
  if [[ -n $template ]]; then
    exec {lock}>"$template/lock"
    flock "$lock"
    if [[ -d $template/data ]]; then
      cp -a "$template/data/." "$fresh" &&
        echo "ALTER ROLE admin PASSWORD '$password';" | postgres_single
      return
    fi
  fi
  "${as_postgres[@]}" "$POSTGRES_BIN/initdb" -D /proc/self/fd/9/data.new -U admin -A scram-sha-256 \
    --pwfile=/proc/self/fd/9/password --encoding=UTF8 --locale=C.UTF-8 &&
    echo "CREATE DATABASE $DATABASE;" | postgres_single || return
  [[ -z $template ]] || { cp -a "$fresh" "$template/data.new" && mv "$template"/data{.new,}; }
}

# Runs the statements of standard input, one per line, on the database being created.
postgres_single() {
  "${as_postgres[@]}" "$POSTGRES_BIN/postgres" --single -D /proc/self/fd/9/data.new postgres
}

# Created under another name and renamed when complete: after an interruption the next start begins again.
postgres_create() {
  local password=$1 home=$2 log=$RUN_DIR/log/initdb.log
  echo "creating the database in $home"
  rm -rf "$home"
  install -d -m 700 -o "$postgres_owner" "$home" "$home/data.new"
  install -m 600 -o "$postgres_owner" <(echo "$password") "$home/password"
  (
    cd /
    exec 9<"$home"
    postgres_init "$password" "$home"
  ) >"$log" 2>&1 || die "initdb failed: see $log"
  rm -f "$home/password"
  sync "$home/data.new"
  mv "$home/data.new" "$home/data"
}

# PostgreSQL's own cache: an eighth of the memory, at most 2 GB. A page of a search reads 50 rows from all over the
# table; from the kernel's cache they cost twice as much.
shared_buffers_mb() {
  awk '/^MemTotal:/ { mb = int($2 / 1024 / 8); print (mb < 128 ? 128 : mb > 2048 ? 2048 : mb) }' \
    /proc/meminfo
}

# CELL. Durability is PostgreSQL's default: fsync and synchronous_commit are on. Moves of organizations between cells
# need logical replication.
postgres_prepare() {
  local cell=$1 name home
  name=${IN_CELL[$cell]}postgres
  home=$RUN_DIR/$name
  database_password "$cell" admin
  [[ -d $home/data ]] || postgres_create "$REPLY" "$home"
  cat >"$home/data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
port = ${PORTS[$name]}
unix_socket_directories = ''
max_connections = 200
shared_buffers = $(shared_buffers_mb)MB
max_wal_size = 2GB
$([[ ${CELLS:-1} -eq 1 ]] || echo 'wal_level = logical')
deadlock_timeout = 100ms
password_encryption = scram-sha-256
log_line_prefix = '%m [%p] %u %a '
log_timezone = 'UTC'
timezone = 'UTC'
$(tls_postgres_config "$home/data")
END
  # There is no other access, and with TLS on none without it. `all` does not include base backups.
  echo "host$(! wants_tls || echo ssl) all,replication all 127.0.0.1/32 scram-sha-256" >"$home/data/pg_hba.conf"
  # Keep the memory that a statement frees for the next one: see docs/operations.md, "Freed memory".
  # The change of user clears the parent-death signal set by the supervisor, so it is set again here.
  quote "$home"
  start_script "$name" "cd /
export MALLOC_TRIM_THRESHOLD_=4194304 MALLOC_MMAP_THRESHOLD_=4194304
exec 9<$REPLY
exec ${as_postgres[*]:-setpriv} --pdeathsig QUIT $POSTGRES_BIN/postgres -D $PGDATA_VIA_FD"
  plan service "$name" INT QUIT 30
}

# Each service has its own user, with the permissions of proto/subject.def.
nats_users_prepare() {
  local cell user options=()
  for cell in "${ALL_CELLS[@]:1}"; do
    options+=(--cell "$cell")
  done
  for user in $(nats_users "${options[@]}"); do
    secret "bus-$user"
  done
  "$BIN_DIR/nats-config" "${options[@]}" --passwords "$RUN_DIR/secrets/bus-" >"$RUN_DIR/nats/users.conf" ||
    die "nats-config failed"
}

nats_users() {
  "$BIN_DIR/nats-config" "$@" | sed -n 's/^ *user: "\([a-z0-9-]*\)".*/\1/p'
}

nats_prepare() {
  mkdir -p "$RUN_DIR/nats"
  # A page of 100 conversations with as many and as long attributes as possible is 7 MB.
  umask 077
  cat >"$RUN_DIR/nats/nats.conf" <<END
max_payload: 8MB
listen: "127.0.0.1:${PORTS[nats]}"
server_name: "local"
include "users.conf"
$(tls_nats_config)
END
  nats_users_prepare
  umask 027
  # The Go runtime collects garbage whenever its small heap has doubled: a third of the server's CPU time if replies
  # are pages of 32 KB. Let it grow by 8 times, and collect as needed above 512 MB. With a second processor to run Go
  # code on, the runtime looks for work there whenever it runs out of it, which takes up to a third of its CPU time.
  quote "$RUN_DIR/nats/nats.conf"
  start_script nats "export GOGC=800 GOMEMLIMIT=512MiB GOMAXPROCS=1
exec nats-server -c $REPLY"
  plan service nats TERM KILL 5
}
