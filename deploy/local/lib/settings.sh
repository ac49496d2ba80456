# shellcheck shell=bash disable=SC2154
# Settings: those in $RUN_DIR/settings.env, and those with which the stack was started. $RUN_DIR/settings has a line
# "NAME DIGEST" for each setting, and "secrets/FILE DIGEST" for each file of secrets/; "-" if it was not given.
# Digests, since some are secret.

# Settings that the stack itself gives its programs, and those that may be given only as values.
SETTINGS_OURS='NATS_(URL|CA_FILE|CERT_FILE|KEY_FILE|CREDS_FILE|TLS_HOST)|DATABASE_URL|CELL|ADMIN_\w+|SERVICE_INSTANCE|\w+_DB_PASSWORD'
SETTINGS_DIRECT='(GATEWAY|GATEWAY_TLS|DASHBOARD)_PORT|PUBLIC_BASE_URL|CELL_NAMES|CURSOR_KEY|AUDIT_SIGNING_KEY|WEBHOOK_SECRET_KEY'
SETTINGS_REFUSED="($SETTINGS_OURS)(_FILE)?|($SETTINGS_DIRECT)_FILE"

# The settings of the stack and of its programs.
settings_names() {
  local program
  printf '%s\n' BIN_DIR STACK_TLS CELLS GATEWAY_PORT DASHBOARD_PORT POSTGRES_PORT NATS_PORT
  printf 'REPLICAS_%s\n' "${SERVICES[@]^^}"
  for program in "${SERVICES[@]}" migrate; do
    [[ ! -x $BIN_DIR/$program ]] || "$BIN_DIR/$program" --describe-config
  done | sed -nE 's/^\| .([A-Z0-9_]+). .*/\1\n\1_FILE/p'
}

# Reads $RUN_DIR/settings.env, lines NAME=VALUE without quotation marks; the environment takes precedence.
settings_read() {
  local file=$RUN_DIR/settings.env line name n=0 known
  for name in $(compgen -e | grep -xE "$SETTINGS_REFUSED"); do
    [[ -z ${!name} ]] || die "$name is not a setting of make up: the stack gives it to its programs"
  done
  [[ -e $file ]] || return 0
  known=$(settings_names | grep -vxE "BIN_DIR|$SETTINGS_REFUSED")
  while IFS= read -r line || [[ -n $line ]]; do
    n=$((n + 1))
    line=${line%$'\r'}
    [[ -n $line && $line != '#'* ]] || continue
    name=${line%%=*}
    [[ $line == *=* ]] || die "$file, line $n: this must be NAME=VALUE"
    grep -qxF -e "$name" <<<"$known" || die "$file, line $n: $name is not a setting of make up"
    [[ -v $name ]] || export "$name=${line#*=}"
  done <"$file"
}

# Reads names from standard input. A setting equal to its default counts as not given. Values reach a single sha256sum
# process through descriptors.
settings_digest() {
  local name value fd i digest given=() fds=() digests=()
  while read -r name; do
    case $name in
    GATEWAY_PORT) value=${GATEWAY_PORT:-8080} ;;
    DASHBOARD_PORT) value=${DASHBOARD_PORT:-8081} ;;
    CELLS | REPLICAS_*) value=${!name:-1} ;;
    secrets/*)
      value=
      [[ ! -e $RUN_DIR/$name ]] || read -r value <"$RUN_DIR/$name" || true
      ;;
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

# Called once all secrets exist. The demo organization's is created later, and configures nothing.
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

# A running stack cannot take other settings: refusing them is better than ignoring them.
settings_check() {
  local known=$RUN_DIR/settings others
  [[ -e $known ]] || return 0
  others=$(cut -d' ' -f1 "$known" | settings_digest | { grep -vxFf "$known" || true; } |
    cut -d' ' -f1)
  [[ -z $others ]] || die "already running with other settings (${others//$'\n'/, }): make down first"
}
