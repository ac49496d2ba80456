# shellcheck shell=bash
# Random secrets, made once and kept in $RUN_DIR/secrets (mode 700).

# Prints the secret NAME: 48 hex digits, so it needs no quoting in URLs and settings.
secret() {
  local file=$RUN_DIR/secrets/$1
  if [[ ! -s $file ]]; then
    (umask 077 && od -An -v -tx1 -N24 /dev/urandom | tr -d ' \n' >"$file.new")
    mv "$file.new" "$file"
  fi
  cat "$file"
}
