/*
 * turns - the thread that waits for the database in the sender's place.
 *
 * What     One turn (store.h) at a time: begun, and some time later ended. However long the
 * database takes, the sender goes on reading answers meanwhile. Owns     turns_new() gives what
 * turns_free() takes back. What an ask points to belongs to the turn until it has ended; claims
 * live until the next one begins. Threads  The sender's; wake() is called from its own. Fails NULL
 * (logged): the database's URL cannot be parsed. A turn that fails says so.
 */
#ifndef SERVICES_WEBHOOK_TURNS_H
#define SERVICES_WEBHOOK_TURNS_H

#include "services/webhook/store.h"

struct turns_options {
    const char *database_url, *name;
    int lease_ms;
    void (*wake)(void *closure); /* a turn has ended */
    void *closure;
};

struct turn {
    struct store_ask ask;
    enum status st;
    struct store_told told; /* ST_OK */
    int64_t took_us;
};

struct turns;

struct turns *turns_new(const struct turns_options *options);
void turns_free(struct turns *turns); /* waits for one that is under way */

/* There must be none under way. */
void turns_begin(struct turns *turns, const struct store_ask *ask);
/* False: there is none, or it has not ended yet. */
bool turns_end(struct turns *turns, struct turn *out);

#endif
