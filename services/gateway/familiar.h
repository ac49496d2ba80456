/*
 * familiar - networks from which a valid key came within the last hour.
 *
 * What     API clients call from the same few networks (a /24, a /48) again and again. When made-up
 *          keys have used up most of the lookup budget, an unknown key is still looked up if it comes
 *          from one of these: see key_lookup.h. The table has a fixed size; a new network replaces the
 *          one that was quiet the longest.
 * Owns     Free the table with recent_table_free().
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_FAMILIAR_H
#define SERVICES_GATEWAY_FAMILIAR_H

#include <stdbool.h>
#include <stdint.h>

struct address;
struct recent_table;

/* `seed` is random. */
struct recent_table *familiar_new(uint64_t seed);

/* A valid key came from this address. */
void familiar_note(struct recent_table *familiar, const struct address *address, int64_t mono_us);
bool familiar_holds(const struct recent_table *familiar, const struct address *address,
                    int64_t mono_us);

#endif
