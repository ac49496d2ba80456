# shellcheck shell=bash
# Cells: CELLS of them, the first named main, the others cell2, cell3 and so on. Each has a PostgreSQL and the
# services in OF_CELL; names in other cells have a prefix: cell2-postgres, cell2-conversation-0.
OF_CELL=(conversation search audit webhook)
CELLS_MAX=9

cells() {
  local i
  echo main
  for ((i = 2; i <= ${CELLS:-1}; i++)); do
    echo "cell$i"
  done
}

# Requests for organizations of an omitted cell would get 503, without any explanation.
cells_check() {
  local home cell lost=
  [[ ${CELLS:-1} =~ ^[1-9]$ ]] || die "CELLS must be a number from 1 to $CELLS_MAX"
  [[ ! -e $RUN_DIR/restoring ]] || return 0 # half of a backup, which the next restore throws away
  for home in "$RUN_DIR"/cell*-postgres; do
    cell=${home##*/} cell=${cell%-postgres}
    [[ ! -d $home || $'\n'$(cells)$'\n' == *$'\n'$cell$'\n'* ]] || lost=$cell
  done
  [[ -z $lost ]] || die "$RUN_DIR has the data of $lost, not in CELLS=${CELLS:-1}; start with CELLS=${lost#cell}"
}

# CELL NAME
in_cell() {
  if [[ $1 == main ]]; then
    echo "$2"
  else
    echo "$1-$2"
  fi
}

# The cells in which SERVICE runs; services of the directory and the edge run once, as if in main.
cells_of() {
  if [[ " ${OF_CELL[*]} " == *" $1 "* ]]; then
    cells
  else
    echo main
  fi
}

# For convctl cell move.
cell_databases() {
  local cell all=()
  for cell in $(cells); do
    all+=("$cell=$(database_url "$cell" admin)")
  done
  echo "${all[*]}"
}
