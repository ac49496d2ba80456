#include "common/base/watchdog.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"

/* The kernel's limit for a thread's name. */
enum { THREADS_MAX = 256, NAME_CAPACITY = 64, COMM_CAPACITY = 16 };

struct watched {
    char name[NAME_CAPACITY]; /* "" = unused */
    atomic_int_least64_t at_us;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the names; never held for long */
static struct watched watched[THREADS_MAX];
static _Thread_local struct watched *own;

void watchdog_begin(const char *name)
{
    char comm[COMM_CAPACITY];
    size_t i = 0;

    must(own == NULL && name[0] != '\0');
    pthread_mutex_lock(&lock);
    while (i < THREADS_MAX && watched[i].name[0] != '\0')
        i++;
    must(i < THREADS_MAX);
    own = &watched[i];
    watchdog_kick();
    snprintf(own->name, sizeof(own->name), "%s", name);
    pthread_mutex_unlock(&lock);
    snprintf(comm, sizeof(comm), "%s", name);
    (void)pthread_setname_np(pthread_self(), comm);
}

void watchdog_kick(void)
{
    if (own != NULL)
        watchdog_kick_at(clock_mono_us());
}

void watchdog_kick_at(int64_t mono_us)
{
    if (own != NULL)
        atomic_store_explicit(&own->at_us, mono_us, memory_order_relaxed);
}

void watchdog_end(void)
{
    if (own == NULL)
        return;
    pthread_mutex_lock(&lock);
    own->name[0] = '\0';
    pthread_mutex_unlock(&lock);
    own = NULL;
}

size_t watchdog_overdue(int64_t longer_than_us, char reason[128])
{
    const int64_t now_us = clock_mono_us();
    size_t n = 0;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < THREADS_MAX; i++) {
        const struct watched *at = &watched[i];
        const int64_t at_us = atomic_load_explicit(&at->at_us, memory_order_relaxed);

        /* The thread may wait for work, or have reported since `now`. */
        if (at->name[0] == '\0' || at_us > now_us || now_us - at_us <= longer_than_us)
            continue;
        if (n++ == 0 && reason != NULL)
            snprintf(reason, 128, "thread %.*s has not responded for %" PRId64 " s",
                     NAME_CAPACITY - 1, at->name, (now_us - at_us) / 1000000);
    }
    pthread_mutex_unlock(&lock);
    return n;
}
