/*
 * place - where a page of a search begins, and its form as a cursor.
 *
 * Threads  Any; pure, the time is an argument.
 * Fails    place_read() is false for whatever is not a live cursor of ours for that search.
 */
#ifndef SERVICES_SEARCH_PLACE_H
#define SERVICES_SEARCH_PLACE_H

#include "common/base/uuid.h"
#include "common/crypto/cursor.h"

/* The page holds what is behind this conversation: older, or as old with a lesser id. */
struct place {
    int64_t created_us; /* Unix microseconds */
    struct uuid id;
    uint32_t page; /* which page it is, counted from 1 */
};

/* `binding` is what query_binding() gives. */
void place_write(const struct place *place, const struct cursor_keys *keys, struct str binding,
                 int64_t now_us, char text[CURSOR_TEXT_MOST + 1]);
MUST_CHECK bool place_read(struct str text, const struct cursor_keys *keys, struct str binding,
                           int64_t now_us, struct place *out);

#endif
