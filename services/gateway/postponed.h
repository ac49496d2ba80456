/*
 * postponed - requests that may not be answered before the window of their key's quota ends.
 *
 * What     A key gets a bounded number of answers in a window, refusals included (quota.h), since
 *          each is an entry on disk. Requests beyond that wait here until the window ends. They hold
 *          connections and memory, so few may wait of a key and of all keys; a request without a
 *          place is dropped, as is one whose own time ends first. Nobody waits once the
 *          program stops. A request that waits counts as one of the loop's (API_REQUESTS_MAX).
 * Owns     Nothing; the requests remove their entries when they end.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_POSTPONED_H
#define SERVICES_GATEWAY_POSTPONED_H

#include <h2o.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/list.h"
#include "common/base/status.h"
#include "common/http/timer.h"

struct edge;
struct key;
struct wait_entry;

#define POSTPONED_OF_KEY 64
#define POSTPONED_MAX    1024
#define POSTPONED_LINES  16 /* of the log in a window; a key has one at most */

struct postponed {
    struct list waiting;
    uint32_t n;
    int64_t window; /* in which all of them came */
    int64_t told_window;
    unsigned n_told; /* lines of the log in that window */
    struct edge *edge;
    struct timer timer; /* looks for the window's end while somebody waits */
};

/* free() it when nobody waits. */
struct postponed *postponed_new(struct edge *edge);
/* The entry is resumed when the window ends. False: it has no place. */
MUST_CHECK bool postponed_add(struct postponed *postponed, struct key *key,
                              struct wait_entry *entry);
/* Must be called once for each entry that was added: it was resumed, or removed from its list. */
void postponed_leave(struct postponed *postponed, struct key *key);

/* A request of this key is dropped: counts it, and says so once a window. */
void postponed_note_drop(struct postponed *postponed, struct key *key);

#endif
