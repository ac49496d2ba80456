/*
 * path - whether the path of a request fits a pattern, on its raw bytes.
 *
 * What     Nothing is decoded or normalized. A star in a pattern stands for an id: 1 to
 *          PATH_ID_MAX letters, digits, hyphens and underscores, as all our ids are.
 * Owns     Nothing; the id points into the path.
 * Threads  Any; pure.
 */
#ifndef DASHBOARD_PATH_H
#define DASHBOARD_PATH_H

#include <stdbool.h>

#include "common/base/str.h"

#define PATH_ID_MAX 64

/* *id is STR_NONE when the pattern has no star. */
bool path_matches(struct str path, const char *pattern, struct str *id);

#endif
