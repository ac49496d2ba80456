# shellcheck shell=bash disable=SC2034
# Cells: CELLS of them, the first named main, the others cell2, cell3 and so on. Each has a PostgreSQL and the
# services in OF_CELL; names in other cells have a prefix: cell2-postgres, cell2-conversation-0.
OF_CELL=(conversation search audit webhook)
CELLS_MAX=9
ALL_CELLS=(main)
declare -A IN_CELL=([main]='') # by cell, the prefix of names

# Sets these from CELLS.
cells_list() {
  local i
  [[ ${CELLS:-1} =~ ^[1-9]$ ]] || die "CELLS must be a number from 1 to $CELLS_MAX"
  ALL_CELLS=(main)
  for ((i = 2; i <= ${CELLS:-1}; i++)); do
    ALL_CELLS+=("cell$i")
    IN_CELL[cell$i]=cell$i-
  done
}

# Requests for organizations of an omitted cell would get 503, without any explanation.
cells_check() {
  local home cell lost=
  cells_list
  [[ ! -e $RUN_DIR/restoring ]] || return 0 # half of a backup, which the next restore throws away
  for home in "$RUN_DIR"/cell*-postgres; do
    cell=${home##*/} cell=${cell%-postgres}
    [[ ! -d $home || -v IN_CELL[$cell] ]] || lost=$cell
  done
  [[ -z $lost ]] || die "$RUN_DIR has the data of $lost, not in CELLS=${CELLS:-1}; start with CELLS=${lost#cell}"
}

# For convctl cell move: sets REPLY.
cell_databases() {
  local cell all=()
  for cell in "${ALL_CELLS[@]}"; do
    database_url "$cell" admin
    all+=("$cell=$REPLY")
  done
  REPLY=${all[*]}
}
