# shellcheck shell=bash
# Sets POSTGRES_BIN to the folder of PostgreSQL's programs, of the newest version that Debian's packages have installed.
# Without one it does not exist.
postgres_bins=(/usr/lib/postgresql/*/bin)
# shellcheck disable=SC2034 # for the scripts that source it
POSTGRES_BIN=${postgres_bins[-1]}
