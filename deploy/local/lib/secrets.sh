# shellcheck shell=bash
# Random secrets, made once and kept in $RUN_DIR/secrets (mode 700).

# Prints the secret NAME, of BYTES (24) random bytes, as hex digits: it needs no quoting in URLs and
# settings.
secret() {
  local file=$RUN_DIR/secrets/$1 bytes=${2:-24}
  if [[ ! -s $file ]]; then
    (umask 077 && od -An -v -tx1 -N"$bytes" /dev/urandom | tr -d ' \n' >"$file.new")
    mv "$file.new" "$file"
  fi
  cat "$file"
}
