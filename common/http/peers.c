#include "common/http/peers.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/str.h"
#include "common/crypto/crypto.h"

void peers_init(struct peers *peers)
{
    *peers = (struct peers){.seed = 0};
    crypto_random(&peers->seed, sizeof(peers->seed));
}

/* The address of the pointer to it, or of the NULL pointer at the end of its list. */
static struct peer **find(struct peers *peers, const struct network *network)
{
    const uint64_t hash = hash_key(network->base.b, peers->seed ^ network->bits);
    struct peer **at = &peers->buckets[hash % PEERS_BUCKETS];

    while (*at != NULL && !network_equal(&(*at)->network, network))
        at = &(*at)->next;
    return at;
}

struct peer *peers_find(struct peers *peers, const struct network *network)
{
    return *find(peers, network);
}

struct peer *peers_count_in(struct peers *peers, const struct network *network)
{
    struct peer **at = find(peers, network);

    if (*at == NULL) {
        *at = heap_zeroed(1, sizeof(**at));
        (*at)->network = *network;
        list_init(&(*at)->idle);
    }
    (*at)->n++;
    return *at;
}

void peers_count_out(struct peers *peers, struct peer *peer)
{
    struct peer **at;

    if (--peer->n > 0)
        return;
    at = find(peers, &peer->network);
    *at = peer->next;
    free(peer);
}
