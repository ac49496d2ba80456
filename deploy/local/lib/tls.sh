# shellcheck shell=bash disable=SC2154,SC2034
# STACK_TLS=1: PostgreSQL and nats-server accept only TLS, with certificates from an authority in RUN_DIR, made once.
# The bus requires client certificates too.
TLS=$RUN_DIR/tls
# What programs on the bus need besides its URL.
TLS_BUS_SETTINGS=("NATS_CA_FILE=$TLS/authority.pem" "NATS_CERT_FILE=$TLS/client.pem" "NATS_KEY_FILE=$TLS/client.key")

wants_tls() {
  [[ ${STACK_TLS-} == 1 ]]
}

# NAME USE...: a key and a certificate for it, signed by the authority, in the current folder.
certificate() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
    -keyout "$1.key" |
    openssl x509 -req -CA authority.pem -CAkey authority.key -days 825 \
      -set_serial "0x$(openssl rand -hex 8)" -extfile <(printf '%s\n' "${@:2}") -out "$1.pem"
}

# Created under another name and renamed when complete.
tls_prepare() {
  wants_tls && [[ ! -d $TLS ]] || return 0
  command -v openssl >/dev/null || die "STACK_TLS=1 needs openssl"
  rm -rf "$TLS.new"
  (
    umask 077
    mkdir "$TLS.new"
    cd "$TLS.new"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 825 \
      -subj /CN=authority -keyout authority.key -out authority.pem
    certificate server subjectAltName=IP:127.0.0.1 extendedKeyUsage=serverAuth
    certificate client extendedKeyUsage=clientAuth
  ) 2>"$RUN_DIR/log/openssl.log" || die "no certificates: see $RUN_DIR/log/openssl.log"
  mv "$TLS.new" "$TLS"
}

# Prints the end of a database URL.
tls_database_query() {
  printf '?sslmode=verify-full&sslrootcert=%s' "$(jq -rn --arg path "$TLS/authority.pem" '$path | @uri')"
}

tls_nats_config() {
  ! wants_tls || cat <<END
tls {
  cert_file: "$TLS/server.pem"
  key_file: "$TLS/server.key"
  ca_file: "$TLS/authority.pem"
  verify: true
}
END
}

# PostgreSQL requires that it owns its key.
tls_postgres_config() {
  local data=$1
  wants_tls || return 0
  install -m 600 -o "$postgres_owner" "$TLS/server.pem" "$TLS/server.key" "$data"
  echo "ssl = on
ssl_cert_file = 'server.pem'
ssl_key_file = 'server.key'
ssl_min_protocol_version = 'TLSv1.2'"
}
