/*
 * parameters - the query of a request as members of a JSON object.
 *
 * What     Each route lists what it takes; anything else, a parameter given twice, a malformed
 *          escape, text that is not UTF-8 or an invalid number is refused. Values are strings or
 *          integers for the service, which checks them.
 * Threads  Any.
 */
#ifndef DASHBOARD_PARAMETERS_H
#define DASHBOARD_PARAMETERS_H

#include <stdbool.h>

#include "common/base/str.h"
#include "common/wire/json.h"

#define PARAMETERS_VALUE_MAX 1024 /* bytes, decoded */

struct parameter {
    const char *name; /* NULL ends a list */
    bool is_number;
};

/* Adds to `object` what `query` (STR_NONE: none) holds. False: `field` is the parameter at fault,
   cut if it is long, and of UTF-8 letters and digits only. */
MUST_CHECK bool parameters_read(struct str query, const struct parameter *list, json_t *object,
                                char field[64]);

#endif
