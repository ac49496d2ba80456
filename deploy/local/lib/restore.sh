# shellcheck shell=bash disable=SC2154
# Restores a backup by tools/backup into a RUN_DIR without a database; only PostgreSQL runs meanwhile.

restore_prepare() {
  local cell
  tls_prepare
  for cell in "${ALL_CELLS[@]}"; do
    postgres_prepare "$cell"
  done
}

# The part of the backup FROM that belongs to CELL.
restore_part() {
  local from=$1 cell=$2
  if [[ $cell == main ]]; then
    echo "$from"
  else
    echo "$from/cells/$cell"
  fi
}

# CELLS is that of the backup: with fewer, organizations would lack their data.
restore_cells() {
  local from=$1 homes n
  shopt -s nullglob
  homes=("$from"/cells/*)
  shopt -u nullglob
  n=$((1 + ${#homes[@]}))
  [[ -z ${CELLS-} || $CELLS == "$n" ]] || die "$from has $n cells, and CELLS is $CELLS"
  CELLS=$n
  cells_check
}

restore_is_backup() {
  local from=$1 cell part
  [[ -d $from/secrets ]] || return 1
  for cell in "${ALL_CELLS[@]}"; do
    part=$(restore_part "$from" "$cell")
    [[ -s $part/roles.sql && -s $part/conversations.backup ]] || return 1
  done
}

# Refuses existing data, unless an incomplete restore has left it.
restore_check_empty() {
  local home
  for home in "$RUN_DIR"/{,*-}postgres; do
    [[ ! -e $home || -e $RUN_DIR/restoring ]] ||
      die "$RUN_DIR has a database; choose another RUN_DIR, or move $home away"
  done
}

# Existing other secrets may be all that decrypts a database which was moved away.
restore_secrets() {
  local from=$1
  if [[ -d $RUN_DIR/secrets && ! -e $RUN_DIR/restoring ]]; then
    diff -rq "$from/secrets" "$RUN_DIR/secrets" >/dev/null ||
      die "$RUN_DIR has other secrets; choose another RUN_DIR, or move $RUN_DIR/secrets away"
  fi
  mkdir -p "$RUN_DIR/secrets"
  chmod 700 "$RUN_DIR/secrets"
  touch "$RUN_DIR/restoring"
  cp -a "$from/secrets/." "$RUN_DIR/secrets"
  [[ -e $RUN_DIR/settings.env || ! -e $from/settings.env ]] || cp -a "$from/settings.env" "$RUN_DIR"
}

# FOLDER CELL. Passwords go through the environment, which only its owner can read. The role `admin` and its password
# already exist.
restore_database() (
  export PGHOST=127.0.0.1 PGUSER=admin PGDATABASE=postgres PGPORT PGPASSWORD
  database_password "$2" admin
  PGPORT=${PORTS[${IN_CELL[$2]}postgres]} PGPASSWORD=$REPLY
  ! wants_tls || export PGSSLMODE=verify-full PGSSLROOTCERT="$TLS/authority.pem"
  grep -v '^CREATE ROLE admin;$' "$1/roles.sql" | "$POSTGRES_BIN/psql" -qX -v ON_ERROR_STOP=1 >/dev/null &&
    "$POSTGRES_BIN/dropdb" conversations &&
    "$POSTGRES_BIN/pg_restore" --exit-on-error --create -d postgres "$1/conversations.backup"
)

restore_all() {
  local from=$1 cell name
  # shellcheck disable=SC2034 # for wait_a_little
  until=$((SECONDS + READY_TIMEOUT_S))
  for cell in "${ALL_CELLS[@]}"; do
    name=${IN_CELL[$cell]}postgres
    until postgres_answers "$name"; do
      wait_a_little "$name" "no answer"
    done
    restore_database "$(restore_part "$from" "$cell")" "$cell" || return
  done
}

# After a restore that failed or was interrupted, the next one starts over.
restore_check() {
  [[ ! -e $RUN_DIR/restoring ]] ||
    die "$RUN_DIR is only partly restored: run tools/restore DIR again, or remove the folder"
}

# No ports are opened meanwhile: those of gateway and dashboard may belong to another stack.
restore() {
  # shellcheck disable=SC2034 # replicas_check() reads them
  local from=${1-} REPLICAS_GATEWAY=0 REPLICAS_DASHBOARD=0
  [[ -n $from ]] || die "usage: stack restore DIR"
  restore_cells "$from"
  restore_is_backup "$from" || die "$from is not a backup by tools/backup"
  ! is_running || die "$RUN_DIR is running: make down stops it"
  restore_check_empty
  trap 'stop_what_we_started; exit 130' INT TERM HUP
  restore_secrets "$from"
  rm -rf "$RUN_DIR"/{,*-}postgres
  start restore_prepare env
  restore_all "$from" || {
    stop
    die "$from could not be restored"
  }
  stop
  rm "$RUN_DIR/restoring"
  if [[ $CELLS == 1 ]]; then
    echo "$from is restored in $RUN_DIR; make up starts it"
  else
    echo "$from is restored in $RUN_DIR; CELLS=$CELLS make up starts it"
  fi
}
