#include "tests/faults/workload.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/base/clock.h"

enum { WORKER_STACK = 128 * 1024 };

static struct {
    int per_second, n_workers;
    int64_t begin_us;
    atomic_bool stopping;
    atomic_llong next, latest_us, n_taken, n_good, n_failed;
    pthread_t threads[WORKLOAD_WORKERS];
} load;

static void wait_until(int64_t due_us)
{
    int64_t late_us = clock_mono_us() - due_us, latest_us = load.latest_us;

    if (late_us < 0)
        poll(NULL, 0, (int)(-late_us / 1000));
    while (late_us > latest_us &&
           !atomic_compare_exchange_weak(&load.latest_us, &latest_us, late_us))
        continue;
}

static void count_turn(int n_failed)
{
    atomic_fetch_add(&load.n_taken, 1);
    atomic_fetch_add(&load.n_good, n_failed == 0);
    atomic_fetch_add(&load.n_failed, n_failed);
}

static void *work(void *closure)
{
    struct http_connection connections[WORKLOAD_GATEWAYS] = {{.fd = -1}, {.fd = -1}};

    (void)closure;
    while (!load.stopping) {
        const long long n = atomic_fetch_add(&load.next, 1);
        const int64_t due_us = load.begin_us + n * 1000000 / load.per_second;

        wait_until(due_us);
        if (!load.stopping)
            count_turn(workload_turn(connections, n, due_us));
    }
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++)
        http_connection_close(&connections[i]);
    return NULL;
}

void workload_start(const struct org orgs[WORKLOAD_ORGS], uint64_t seed, int per_second,
                    int n_workers)
{
    pthread_attr_t attributes;

    workload_requests_open(orgs, seed);
    cr_assert_leq(n_workers, WORKLOAD_WORKERS);
    load.per_second = per_second;
    load.n_workers = n_workers;
    load.begin_us = clock_mono_us();
    load.stopping = false;
    load.next = load.latest_us = load.n_taken = load.n_good = load.n_failed = 0;
    /* By default 24 threads share one heap; after an hour, searching it for free space took a
       quarter of the load's CPU time, at the expense of the services. */
    (void)mallopt(M_ARENA_MAX, WORKLOAD_WORKERS + 1);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK);
    for (int i = 0; i < load.n_workers; i++)
        cr_assert_eq(pthread_create(&load.threads[i], &attributes, work, NULL), 0);
    pthread_attr_destroy(&attributes);
}

struct workload_counts workload_stop(void)
{
    load.stopping = true;
    workload_requests_stop();
    for (int i = 0; i < load.n_workers; i++)
        pthread_join(load.threads[i], NULL);
    workload_requests_close();
    return (struct workload_counts){.requests = load.n_taken,
                                    .good = load.n_good,
                                    .failed_answers = load.n_failed,
                                    .latest_us = load.latest_us};
}
