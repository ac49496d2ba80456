/*
 * familiar - networks from which a good key came within the last hour.
 *
 * What     API clients call from the same few networks (a /24, a /48) again and again. When made-up
 *          keys have used up what may be looked up, a key that was not met before is still looked
 *          up if it comes from one of these: see lookup_budget.h. A table of fixed size, in which
 *          the network that was quiet for longest makes room.
 * Owns     familiar_new() gives what familiar_free() takes back.
 * Threads  One.
 */
#ifndef GATEWAY_FAMILIAR_H
#define GATEWAY_FAMILIAR_H

#include "common/base/network.h"

struct familiar;

/* `seed` is random, so that clients cannot aim at an entry. */
struct familiar *familiar_new(uint64_t seed);
void familiar_free(struct familiar *familiar);

/* A good key came from there. */
void familiar_note(struct familiar *familiar, const struct address *address, int64_t mono_us);
bool familiar_holds(const struct familiar *familiar, const struct address *address,
                    int64_t mono_us);

#endif
