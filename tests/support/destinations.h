/*
 * destinations - URLs that no endpoint may have.
 *
 * Threads  Constant tables.
 */
#ifndef TESTS_SUPPORT_DESTINATIONS_H
#define TESTS_SUPPORT_DESTINATIONS_H

#include <stdbool.h>
#include <stddef.h>

struct bad_destination {
    const char *url;
    const char *why;  /* for the reader of the table */
    bool is_loopback; /* allowed where the operator allows 127.0.0.0/8 and ::1 */
};

extern const struct bad_destination bad_destinations[];
extern const size_t bad_destinations_count;

#endif
