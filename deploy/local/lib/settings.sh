# shellcheck shell=bash disable=SC2154
# Settings: those that $RUN_DIR/settings.env keeps, and with which the stack was started.
# $RUN_DIR/settings has a line "NAME DIGEST" for each that there is, and for each file of secrets/ as
# "secrets/FILE DIGEST"; "-" for one that was not given. A digest, as some are secret.

# What the stack itself gives its programs.
SETTINGS_OURS='BIN_DIR|NATS_(URL|CA_FILE|CERT_FILE|KEY_FILE|TLS_HOST)|DATABASE_URL|CELL|ADMIN_\w+|SERVICE_INSTANCE'

# The settings of the stack and of its programs.
settings_names() {
  local program
  printf '%s\n' BIN_DIR STACK_TLS CELLS GATEWAY_PORT DASHBOARD_PORT POSTGRES_PORT NATS_PORT
  printf 'REPLICAS_%s\n' "${SERVICES[@]^^}"
  for program in "${SERVICES[@]}" migrate; do
    [[ ! -x $BIN_DIR/$program ]] || "$BIN_DIR/$program" --describe-config
  done | sed -nE 's/^\| .([A-Z0-9_]+). .*/\1\n\1_FILE/p'
}

# Takes over what $RUN_DIR/settings.env has, lines NAME=VALUE without quotation marks; what the
# environment has goes before it.
settings_read() {
  local file=$RUN_DIR/settings.env line name n=0 known
  [[ -e $file ]] || return 0
  known=$(settings_names | grep -vxE "($SETTINGS_OURS)(_FILE)?")
  while IFS= read -r line || [[ -n $line ]]; do
    n=$((n + 1))
    [[ -n $line && $line != '#'* ]] || continue
    name=${line%%=*}
    [[ $line == *=* ]] || die "$file, line $n: this is no line NAME=VALUE"
    grep -qxF -e "$name" <<<"$known" || die "$file, line $n: $name is no setting of make up"
    [[ -v $name ]] || export "$name=${line#*=}"
  done <"$file"
}

# Reads names. A setting given with its default counts as not given. A value reaches sha256sum by a
# descriptor, all of them one process.
settings_digest() {
  local name value fd i digest given=() fds=() digests=()
  while read -r name; do
    case $name in
    GATEWAY_PORT) value=${GATEWAY_PORT:-8080} ;;
    DASHBOARD_PORT) value=${DASHBOARD_PORT:-8081} ;;
    CELLS | REPLICAS_*) value=${!name:-1} ;;
    secrets/*) value=$(cat "$RUN_DIR/$name" 2>/dev/null) ;;
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

# When all secrets are made. That of the demo organization comes later, and configures nothing.
settings_save() {
  local file
  (
    umask 077
    {
      settings_names | sort -u
      for file in "$RUN_DIR"/secrets/*; do
        [[ ${file##*/} == demo* ]] || echo "secrets/${file##*/}"
      done
    } | settings_digest >"$RUN_DIR/settings"
  )
}

# A stack that runs cannot take other settings: better refused than not noticed.
settings_check() {
  local known=$RUN_DIR/settings others
  [[ -e $known ]] || return 0
  others=$(cut -d' ' -f1 "$known" | settings_digest | { grep -vxFf "$known" || true; } |
    cut -d' ' -f1)
  [[ -z $others ]] || die "already running with other settings (${others//$'\n'/, }): make down first"
}
