/*
 * peers - the addresses and the networks from which the open connections of a loop come.
 *
 * What     How many connections each has, and which of these are idle. One that has none is not
 *          there.
 * Owns     The peers. The items of a list of idle connections are the caller's.
 * Threads  The loop's.
 */
#ifndef COMMON_HTTP_PEERS_H
#define COMMON_HTTP_PEERS_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/ip.h"
#include "common/base/list.h"

#define PEERS_BUCKETS 1024

struct peer {
    struct peer *next; /* in its bucket */
    struct network network;
    size_t n;
    struct list idle; /* the one idle for longest first */
};

struct peers {
    struct peer *buckets[PEERS_BUCKETS];
    uint64_t seed;
};

void peers_init(struct peers *peers);

/* NULL: it has no connection. */
struct peer *peers_find(struct peers *peers, const struct network *network);
/* Counts one connection more, or one less; the latter frees a peer that has no other. */
struct peer *peers_count_in(struct peers *peers, const struct network *network);
void peers_count_out(struct peers *peers, struct peer *peer);

#endif
