#include "services/webhook/queue_thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "common/base/arena.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/watchdog.h"

enum { REST_US = 5 * 1000 * 1000 };

struct queue_thread {
    struct queue_thread_options options;
    struct queue *queue;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. While the state is UNDER_WAY, only the thread uses `transaction`. */
    enum { NONE, UNDER_WAY, ENDED } state;
    bool is_stopping;
    struct queue_transaction transaction;
};

static void take(struct queue_thread *self)
{
    struct queue_transaction *transaction = &self->transaction;
    const int64_t began_us = clock_mono_us();

    transaction->st = queue_is_up(self->queue)
                          ? queue_transact(self->queue, &transaction->wants, &transaction->result)
                          : ST_UNAVAILABLE;
    transaction->took_us = clock_mono_us() - began_us;
}

/* Bounded, so that a thread that hangs here is noticed REST_US later than elsewhere, not never. */
static void wait_for_work(struct queue_thread *self)
{
    const int64_t until_us = clock_mono_us() + REST_US;
    const struct timespec until = {.tv_sec = until_us / 1000000,
                                   .tv_nsec = until_us % 1000000 * 1000};

    watchdog_kick_at(until_us);
    (void)pthread_cond_clockwait(&self->changed, &self->lock, CLOCK_MONOTONIC, &until);
}

static void *run(void *closure)
{
    struct queue_thread *self = closure;

    watchdog_begin("queue");
    pthread_mutex_lock(&self->lock);
    while (!self->is_stopping) {
        if (self->state != UNDER_WAY) {
            wait_for_work(self);
            continue;
        }
        pthread_mutex_unlock(&self->lock);
        watchdog_kick();
        take(self);
        pthread_mutex_lock(&self->lock);
        self->state = ENDED;
        self->options.wake(self->options.closure);
    }
    pthread_mutex_unlock(&self->lock);
    watchdog_end();
    return NULL;
}

void queue_thread_begin(struct queue_thread *self, const struct queue_wants *wants)
{
    pthread_mutex_lock(&self->lock);
    must(self->state == NONE);
    self->transaction = (struct queue_transaction){.wants = *wants};
    self->state = UNDER_WAY;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

bool queue_thread_end(struct queue_thread *self, struct queue_transaction *out)
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

struct queue_thread *queue_thread_new(const struct queue_thread_options *options)
{
    struct queue_thread *self = heap_zeroed(1, sizeof(*self));
    int failed;

    self->options = *options;
    self->queue = queue_new(&(struct queue_options){
        .database_url = options->database_url,
        .name = options->name,
        .claim_ms = options->claim_ms,
        .budget = options->budget,
        .wait_timeout_us = options->wait_timeout_us,
    });
    if (self->queue == NULL) {
        free(self);
        return NULL;
    }
    failed = pthread_mutex_init(&self->lock, NULL);
    must(failed == 0);
    failed = pthread_cond_init(&self->changed, NULL);
    must(failed == 0);
    failed = pthread_create(&self->thread, NULL, run, self);
    must(failed == 0);
    return self;
}

void queue_thread_free(struct queue_thread *self)
{
    int failed;

    if (self == NULL)
        return;
    pthread_mutex_lock(&self->lock);
    self->is_stopping = true;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
    failed = pthread_join(self->thread, NULL);
    must(failed == 0);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    queue_free(self->queue);
    free(self);
}
