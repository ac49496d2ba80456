/*
 * endpoints - the list of webhook endpoints, as members see it.
 *
 * What     Of a URL scheme and host: path and query can hold a secret.
 * Owns     What endpoints_without_paths() gives is for free().
 * Threads  Any.
 * Fails    NULL, when what the service sent is no list of objects.
 */
#ifndef SERVICES_DASHBOARD_ENDPOINTS_H
#define SERVICES_DASHBOARD_ENDPOINTS_H

#include "common/base/str.h"

char *endpoints_without_paths(struct str list);

#endif
