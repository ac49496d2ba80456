# shellcheck shell=bash
# Random secrets, made once and kept in $RUN_DIR/secrets (mode 700).

# Prints the secret NAME, of BYTES (24) random bytes, as hex digits, which need no quoting in URLs
# and settings.
secret() {
  local file=$RUN_DIR/secrets/$1 bytes=${2:-24} value
  if [[ ! -s $file ]]; then
    value=$(od -An -v -tx1 -N"$bytes" /dev/urandom)
    (umask 077 && printf '%s' "${value//[[:space:]]/}" >"$file.new")
    mv "$file.new" "$file"
  fi
  read -r value <"$file" || [[ -n $value ]]
  printf '%s' "$value"
}
