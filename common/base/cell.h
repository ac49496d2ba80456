/*
 * cell - the names of cells.
 *
 * What     A cell is a database with the conversation, search, audit and webhook services of some
 *          organizations. There is one directory (access, with gateway and dashboard), which records
 *          the cell of each organization. The cell `main` always exists.
 *          A name is 1 to CELL_NAME_MAX lower-case letters and digits, the first a letter: it is part
 *          of subjects, user names and variables.
 * Threads  Any; pure.
 */
#ifndef COMMON_BASE_CELL_H
#define COMMON_BASE_CELL_H

#include <stdbool.h>

#include "common/base/status.h"
#include "common/base/str.h"

#define CELL_MAIN     "main"
#define CELL_NAME_MAX 16
#define CELL_CAPACITY (CELL_NAME_MAX + 1)

bool cell_is_name(struct str text);
bool cell_is_main(const char *name); /* true for NULL */
/* Reads a name. False leaves *out untouched. */
MUST_CHECK bool cell_read(struct str text, char out[CELL_CAPACITY]);
/* Whether `list`, names separated by commas, has that name; and whether a list is valid: one or
   more names, none twice. */
bool cell_is_listed(struct str list, struct str name);
bool cell_list_is_sound(struct str list);

#endif
