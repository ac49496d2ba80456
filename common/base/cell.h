/*
 * cell - the names of cells.
 *
 * What     A cell is a database with the services that keep in it what belongs to some organizations:
 *          conversation, search, audit and webhook. The directory (access, gateway, dashboard) is one, and
 *          says in which cell an organization is. There is always the cell `main`.
 *          A name is 1 to CELL_NAME_MAX lower-case letters and digits, the first a letter: it is part of
 *          subjects, user names and variables.
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
bool cell_is_main(const char *name); /* NULL is */
/* Reads a name; STR_NONE is `main`, as what knows no cells says nothing of them. False leaves *out. */
MUST_CHECK bool cell_read(struct str text, char out[CELL_CAPACITY]);
/* Whether `list`, names separated by commas, has that name; and whether it is such a list at all: names,
   at least one, none twice. */
bool cell_is_listed(struct str list, struct str name);
bool cell_list_is_sound(struct str list);

#endif
