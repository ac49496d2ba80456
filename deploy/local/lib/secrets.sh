# shellcheck shell=bash disable=SC2154
# Random secrets, made once and kept in $RUN_DIR/secrets (mode 700).
declare -A SECRETS=()
random=() # random values of 32 bytes, in hex, not yet used

# FILE TEXT, for the owner alone.
write_private() {
  (umask 077 && printf '%s' "$2" >"$1")
}

# Sets SECRETS[NAME]: hex digits, which need no quoting in URLs and settings.
secret() {
  local file=$RUN_DIR/secrets/$1 value=
  [[ -z ${SECRETS[$1]-} ]] || return 0
  [[ ! -e $file ]] || read -r value <"$file" || true
  if [[ -z $value ]]; then
    [[ ${#random[@]} -gt 0 ]] || mapfile -t random < <(od -An -v -tx1 -w32 -N2048 /dev/urandom | tr -d ' ')
    value=${random[-1]}
    unset 'random[-1]'
    write_private "$file" "$value"
  fi
  SECRETS[$1]=$value
}
