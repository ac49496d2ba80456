# shellcheck shell=bash disable=SC2154
# A backup that tools/backup has made, into a RUN_DIR without a database: only PostgreSQL runs meanwhile.

restore_prepare() {
  tls_prepare
  postgres_prepare main
}

# Others that are there may be all that opens a database which was moved away.
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

# Passwords by the environment, which only its owner can read. `admin` and its password are there.
restore_database() (
  export PGHOST=127.0.0.1 PGUSER=admin PGDATABASE=postgres PGPORT PGPASSWORD
  PGPORT=$(port_of postgres) PGPASSWORD=$(secret database-admin)
  ! wants_tls || export PGSSLMODE=verify-full PGSSLROOTCERT="$TLS/authority.pem"
  grep -v '^CREATE ROLE admin;$' "$1/roles.sql" | "$PGBIN/psql" -qX -v ON_ERROR_STOP=1 >/dev/null &&
    "$PGBIN/dropdb" conversations &&
    "$PGBIN/pg_restore" --exit-on-error --create -d postgres "$1/conversations.backup"
)

# What a restore leaves that failed or was interrupted: the next one begins again.
restore_check() {
  [[ ! -e $RUN_DIR/restoring ]] ||
    die "$RUN_DIR is half restored: tools/restore DIR begins again, or remove the folder"
}

restore() {
  local from=${1-}
  [[ -s $from/roles.sql && -s $from/conversations.backup && -d $from/secrets ]] ||
    die "${from:-nothing} is not a backup by tools/backup"
  ! is_running || die "$RUN_DIR is running: make down stops it"
  [[ ! -e $RUN_DIR/postgres || -e $RUN_DIR/restoring ]] ||
    die "$RUN_DIR has a database; choose another RUN_DIR, or move $RUN_DIR/postgres away"
  trap 'stop_what_we_started; exit 130' INT TERM HUP
  restore_secrets "$from"
  rm -rf "$RUN_DIR/postgres"
  start restore_prepare env
  # shellcheck disable=SC2034 # for wait_a_little
  until=$((SECONDS + READY_TIMEOUT_S))
  until postgres_answers postgres; do
    wait_a_little postgres "no answer"
  done
  restore_database "$from" || {
    stop
    die "$from could not be restored"
  }
  stop
  rm "$RUN_DIR/restoring"
  echo "$from is restored in $RUN_DIR; make up starts it"
}
