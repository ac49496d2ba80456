# shellcheck shell=bash
# Read by each tool with a separate stack: what is set outside, libpq's variables too, is for other
# stacks. The tool says afterwards what its own is to have.
mapfile -t others < <(deploy/local/stack settings)
unset "${others[@]}" "${!PG@}" others
