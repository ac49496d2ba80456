#include "services/webhook/store_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"

struct store_thread {
    struct store_thread_options options;
    struct store *store;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock; the transaction itself is the thread's while it is under way. */
    enum { NONE, UNDER_WAY, ENDED } state;
    bool is_stopping;
    struct store_transaction transaction;
};

static void take(struct store_thread *self)
{
    struct store_transaction *transaction = &self->transaction;
    const int64_t began_us = clock_mono_us();

    transaction->st = store_is_up(self->store)
                          ? store_transact(self->store, &transaction->request, &transaction->result)
                          : ST_UNAVAILABLE;
    transaction->took_us = clock_mono_us() - began_us;
}

static void wait_a_slice(struct store_thread *self)
{
    const int64_t until_us = clock_mono_us() + WATCHDOG_SLICE_MS * 1000;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};

    watchdog_kick();
    (void)pthread_cond_clockwait(&self->changed, &self->lock, CLOCK_MONOTONIC, &until);
}

static void *run(void *closure)
{
    struct store_thread *self = closure;

    watchdog_begin("store");
    pthread_mutex_lock(&self->lock);
    while (!self->is_stopping) {
        if (self->state != UNDER_WAY) {
            wait_a_slice(self);
            continue;
        }
        pthread_mutex_unlock(&self->lock);
        take(self);
        pthread_mutex_lock(&self->lock);
        self->state = ENDED;
        self->options.wake(self->options.closure);
    }
    pthread_mutex_unlock(&self->lock);
    watchdog_end();
    return NULL;
}

void store_thread_begin(struct store_thread *self, const struct store_request *request)
{
    pthread_mutex_lock(&self->lock);
    must(self->state == NONE);
    self->transaction = (struct store_transaction){.request = *request};
    self->state = UNDER_WAY;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

bool store_thread_end(struct store_thread *self, struct store_transaction *out)
{
    bool has_ended;

    pthread_mutex_lock(&self->lock);
    has_ended = self->state == ENDED;
    if (has_ended) {
        *out = self->transaction;
        self->state = NONE;
    }
    pthread_mutex_unlock(&self->lock);
    return has_ended;
}

struct store_thread *store_thread_new(const struct store_thread_options *options)
{
    struct store_thread *self = calloc(1, sizeof(*self));

    must(self != NULL);
    self->options = *options;
    self->store = store_new(&(struct store_options){
        .database_url = options->database_url,
        .name = options->name,
        .claim_ms = options->claim_ms,
        .budget = options->budget,
    });
    if (self->store == NULL) {
        free(self);
        return NULL;
    }
    must(pthread_mutex_init(&self->lock, NULL) == 0);
    must(pthread_cond_init(&self->changed, NULL) == 0);
    must(pthread_create(&self->thread, NULL, run, self) == 0);
    return self;
}

void store_thread_free(struct store_thread *self)
{
    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->is_stopping = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    must(pthread_join(self->thread, NULL) == 0);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    store_free(self->store);
    free(self);
}
