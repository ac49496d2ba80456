# shellcheck shell=bash disable=SC2154
# What tools/backup and tools/restore do alike with docker compose.

compose() {
  docker compose --project-directory "$root" "$@"
}

# Prints the folder of secrets that compose uses: the variable SECRETS_DIR may be in .env.
compose_secrets() {
  compose config | sed -nE "s|^ *file: [\"']?(.*)/database-admin[\"']?$|\1|p"
}
