# shellcheck shell=bash
# Sets POSTGRES_BIN, unless it is set, to the folder of PostgreSQL's programs: of the newest version that Debian's
# packages have installed, or else of the server in PATH. It may not exist.
if [[ -z ${POSTGRES_BIN-} ]]; then
  postgres_bins=(/usr/lib/postgresql/*/bin)
  POSTGRES_BIN=${postgres_bins[-1]}
  if [[ ! -x $POSTGRES_BIN/postgres ]] && postgres_bins=("$(command -v postgres)"); then
    POSTGRES_BIN=${postgres_bins[0]%/*}
  fi
fi
