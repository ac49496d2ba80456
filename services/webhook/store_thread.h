/*
 * store_thread - waits for the database, so that the sender does not.
 *
 * What     One transaction (store.h) at a time: begun, and some time later ended. However long the
 *          database takes, the sender goes on reading answers meanwhile.
 * Owns     store_thread_new() gives what store_thread_free() takes back. What a request points to
 *          belongs to the transaction until it has ended; claims live until the next one begins.
 * Threads  The sender's; wake() is called from its own.
 * Fails    NULL (logged): the database's URL cannot be parsed. A transaction that fails says so.
 */
#ifndef SERVICES_WEBHOOK_STORE_THREAD_H
#define SERVICES_WEBHOOK_STORE_THREAD_H

#include "services/webhook/store.h"

struct store_thread_options {
    const char *database_url, *name;
    int claim_ms, budget;
    void (*wake)(void *closure); /* a transaction has ended */
    void *closure;
};

struct store_transaction {
    struct store_request request;
    enum status st;
    struct store_result result; /* ST_OK */
    int64_t took_us;
};

struct store_thread;

struct store_thread *store_thread_new(const struct store_thread_options *options);
void store_thread_free(struct store_thread *self); /* waits for one that is under way */

/* There must be none under way. */
void store_thread_begin(struct store_thread *self, const struct store_request *request);
/* False: there is none, or it has not ended yet. */
bool store_thread_end(struct store_thread *self, struct store_transaction *out);

#endif
