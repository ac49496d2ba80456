#include "services/webhook/turns.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"

struct turns {
    struct turns_options options;
    struct store *store;
    pthread_t thread;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock; the turn itself is the thread's while it is under way. */
    enum { NONE, UNDER_WAY, ENDED } state;
    bool is_stopping;
    struct turn turn;
};

static void take(struct turns *turns)
{
    struct turn *turn = &turns->turn;
    const int64_t began_us = clock_mono_us();

    turn->st = store_is_up(turns->store) ? store_turn(turns->store, &turn->ask, &turn->told)
                                         : ST_UNAVAILABLE;
    turn->took_us = clock_mono_us() - began_us;
}

static void *run(void *closure)
{
    struct turns *turns = closure;

    pthread_mutex_lock(&turns->lock);
    while (!turns->is_stopping) {
        if (turns->state != UNDER_WAY) {
            pthread_cond_wait(&turns->changed, &turns->lock);
            continue;
        }
        pthread_mutex_unlock(&turns->lock);
        take(turns);
        pthread_mutex_lock(&turns->lock);
        turns->state = ENDED;
        turns->options.wake(turns->options.closure);
    }
    pthread_mutex_unlock(&turns->lock);
    return NULL;
}

void turns_begin(struct turns *turns, const struct store_ask *ask)
{
    pthread_mutex_lock(&turns->lock);
    must(turns->state == NONE);
    turns->turn = (struct turn){.ask = *ask};
    turns->state = UNDER_WAY;
    pthread_cond_signal(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
}

bool turns_end(struct turns *turns, struct turn *out)
{
    bool has_ended;

    pthread_mutex_lock(&turns->lock);
    has_ended = turns->state == ENDED;
    if (has_ended) {
        *out = turns->turn;
        turns->state = NONE;
    }
    pthread_mutex_unlock(&turns->lock);
    return has_ended;
}

struct turns *turns_new(const struct turns_options *options)
{
    struct turns *turns = calloc(1, sizeof(*turns));

    must(turns != NULL);
    turns->options = *options;
    turns->store = store_new(&(struct store_options){
        .database_url = options->database_url,
        .name = options->name,
        .lease_ms = options->lease_ms,
    });
    if (turns->store == NULL) {
        free(turns);
        return NULL;
    }
    must(pthread_mutex_init(&turns->lock, NULL) == 0);
    must(pthread_cond_init(&turns->changed, NULL) == 0);
    must(pthread_create(&turns->thread, NULL, run, turns) == 0);
    return turns;
}

void turns_free(struct turns *turns)
{
    if (turns == NULL)
        return;
    pthread_mutex_lock(&turns->lock);
    turns->is_stopping = true;
    pthread_cond_signal(&turns->changed);
    pthread_mutex_unlock(&turns->lock);
    must(pthread_join(turns->thread, NULL) == 0);
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->lock);
    store_free(turns->store);
    free(turns);
}
