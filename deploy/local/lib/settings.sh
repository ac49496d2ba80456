# shellcheck shell=bash disable=SC2154
# With which settings the stack was started: $RUN_DIR/settings has a line "NAME DIGEST" for each that
# there is, and "-" for one that was not given. A digest, as some are secret.

# The settings of the stack and of its programs.
settings_names() {
  local program
  printf '%s\n' BIN_DIR STACK_TLS GATEWAY_PORT DASHBOARD_PORT POSTGRES_PORT NATS_PORT
  printf 'REPLICAS_%s\n' "${SERVICES[@]^^}"
  for program in "${SERVICES[@]}" migrate; do
    [[ ! -x $BIN_DIR/$program ]] || "$BIN_DIR/$program" --describe-config
  done | sed -nE 's/^\| .([A-Z0-9_]+). .*/\1\n\1_FILE/p'
}

# Reads names. A setting given with its default counts as not given. A value reaches sha256sum by a
# descriptor, all of them one process.
settings_digest() {
  local name value fd i digest given=() fds=() digests=()
  while read -r name; do
    case $name in
    GATEWAY_PORT) value=${GATEWAY_PORT:-8080} ;;
    DASHBOARD_PORT) value=${DASHBOARD_PORT:-8081} ;;
    REPLICAS_*) value=${!name:-1} ;;
    *) value=${!name-} ;;
    esac
    if [[ -z $value ]]; then
      echo "$name -"
    else
      exec {fd}<<<"$value"
      given+=("$name") fds+=("$fd")
    fi
  done
  mapfile -t digests < <(sha256sum "${fds[@]/#//dev/fd/}")
  for i in "${!given[@]}"; do
    read -r digest _ <<<"${digests[i]}"
    echo "${given[i]} $digest"
  done
}

settings_save() {
  (umask 077 && settings_names | sort -u | settings_digest >"$RUN_DIR/settings")
}

# A stack that runs cannot take other settings: better refused than not noticed.
settings_check() {
  local known=$RUN_DIR/settings others
  [[ -e $known ]] || return 0
  others=$(cut -d' ' -f1 "$known" | settings_digest | { grep -vxFf "$known" || true; } |
    cut -d' ' -f1)
  [[ -z $others ]] || die "already running with other settings (${others//$'\n'/, }): make down first"
}
