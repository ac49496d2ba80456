# shellcheck shell=bash
# Sourced by each tool with its own stack: variables set outside, including libpq's and
# those for proxies, are for others. The tool then sets those that its own needs.
mapfile -t others < <(deploy/local/stack settings)
unset "${others[@]}" "${!PG@}" others
