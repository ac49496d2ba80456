# shellcheck shell=bash disable=SC2154
# When everything is ready, prints the addresses and what to try first.

# SERVICE URL: of its first replica.
where() {
  if [[ ${REPLICAS[$1]} -gt 0 ]]; then
    echo "$2"
  else
    echo "none: no $1 runs"
  fi
}

describe() {
  local shown=$RUN_DIR dashboard https=
  [[ $RUN_DIR != "$PWD"/* ]] || shown=${RUN_DIR#"$PWD"/}
  dashboard="http://127.0.0.1:${PORTS[dashboard]}  (OWNER_EMAIL, OWNER_PASSWORD: see below)"
  [[ -z ${PORTS[gateway_tls]-} ]] ||
    https=$'\n'"              https://127.0.0.1:${PORTS[gateway_tls]}/api/v1"
  cat <<END

  API         $(where gateway "http://127.0.0.1:${PORTS[gateway]}/api/v1$https")
  dashboard   $(where dashboard "$dashboard")
  keys        $shown/env (and addresses, OWNER_EMAIL, OWNER_PASSWORD), kept private
  logs        $shown/log/NAME.log
  data        $shown/postgres

END
  [[ ${REPLICAS[gateway]} -eq 0 ]] || describe_first_call
}

describe_first_call() {
  local env
  env=$(printf %q "$shown/env")
  cat <<END
A first conversation:

  set -a; . $env; set +a
  curl -i "\$BASE_URL/conversations" -H "Authorization: Bearer \$FULL_KEY" \\
    -H 'Content-Type: application/json' \\
    -d '{"external_id": "hello-1", "from": {"external_id": "user-1", "name": "Grace"}}'

END
}
