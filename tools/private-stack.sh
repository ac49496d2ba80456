# shellcheck shell=bash
# Read by each tool with a separate stack: variables set outside, libpq's too, are for other
# stacks. The tool sets afterwards what its own needs.
mapfile -t others < <(deploy/local/stack settings)
unset "${others[@]}" "${!PG@}" others
