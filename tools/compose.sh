# shellcheck shell=bash disable=SC2154
# Shared by tools/backup and tools/restore for docker compose.

# COMPOSE_FILE, in the environment or in .env, lists the files of further cells, relative to $root.
compose() (
  cd "$root" || exit
  exec docker compose --project-directory "$root" "$@"
)

# Prints the folder of secrets that compose uses: the variable SECRETS_DIR may be in .env.
compose_secrets() {
  compose config | sed -nE "s|^ *file: [\"']?(.*)/database-admin[\"']?$|\1|p"
}

# Prints the cells, each with a PostgreSQL, one per line.
compose_cells() {
  compose config --services | sed -nE 's/^((.*)-)?postgres$/\2/p' | sed 's/^$/main/' | sort
}

# The PostgreSQL of CELL, and its part of the backup FOLDER.
compose_postgres() {
  [[ $1 == main ]] || printf '%s-' "$1"
  echo postgres
}
compose_part() {
  echo "$2$([[ $1 == main ]] || echo "/cells/$1")"
}
