/*
 * queue_thread - runs the sender's transactions, so that the sender does not wait for the database.
 *
 * What     One transaction at a time: the sender begins it and collects the result later. However
 *          long the database takes, the sender keeps handling responses.
 * Owns     queue_thread_free() frees what queue_thread_new() returns. What a struct queue_wants
 *          points to must not change until its transaction has ended.
 * Threads  The sender's; its own thread calls wake().
 * Fails    NULL (logged): the database's URL cannot be parsed. A transaction fails as
 *          queue_transact() does, and is unavailable if the database cannot be reached.
 */
#ifndef SERVICES_WEBHOOK_QUEUE_THREAD_H
#define SERVICES_WEBHOOK_QUEUE_THREAD_H

#include "services/webhook/queue.h"

struct queue_thread_options {
    const char *database_url, *name;
    int claim_ms, budget;
    int64_t wait_timeout_us;
    void (*wake)(void *closure); /* a transaction has ended */
    void *closure;
};

struct queue_transaction {
    struct queue_wants wants;
    enum status st;
    struct queue_result result; /* if st is ST_OK */
    int64_t took_us;
};

struct queue_thread;

struct queue_thread *queue_thread_new(const struct queue_thread_options *options);
void queue_thread_free(struct queue_thread *self); /* waits for a transaction under way */

/* No transaction may be under way. */
void queue_thread_begin(struct queue_thread *self, const struct queue_wants *wants);
/* False: no transaction has ended. */
bool queue_thread_end(struct queue_thread *self, struct queue_transaction *out);

#endif
