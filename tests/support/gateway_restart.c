#include "tests/support/gateway_restart.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/replica.h"

enum { THREADS = 8, SERVED = 20 /* of each thread, before and after */, RECORDS_MAX = 20000 };
enum { PAUSE_MS = 4, WITHIN_MS = 30000 };

/* One request. The status is 0 if there was a connection but no response. */
enum { NO_CONNECTION = -1 };
struct record {
    int64_t sent_us, ended_us;
    int status;
};

struct pinger {
    struct run *run;
    char key[64];
    pthread_t thread;
    struct http_connection client;
    struct record records[RECORDS_MAX];
    int n;
    atomic_int n_served; /* since the latest start of a gateway */
};

struct run {
    int port;
    atomic_bool is_stopping;
    struct pinger pingers[THREADS];
};

static int ask(struct pinger *pinger)
{
    const char *request = format("GET /api/v1/ping HTTP/1.1\r\nHost: localhost\r\n"
                                 "Authorization: Bearer %s\r\nConnection: close\r\n\r\n",
                                 pinger->key);
    struct connection_response response = {.status = 0};

    if (!http_connection_open(&pinger->client, pinger->run->port))
        return NO_CONNECTION;
    pinger->client.is_private = true; /* there are many */
    if (!http_connection_send(&pinger->client, request, strlen(request)) ||
        !http_connection_receive(&pinger->client, &response, HTTP_TIMEOUT_MS))
        response.status = 0;
    http_connection_close(&pinger->client);
    return response.status;
}

static void *work(void *closure)
{
    struct pinger *pinger = closure;

    while (!pinger->run->is_stopping) {
        struct record *record = &pinger->records[pinger->n++];

        cr_assert_lt(pinger->n, RECORDS_MAX);
        record->sent_us = clock_mono_us();
        record->status = ask(pinger);
        record->ended_us = clock_mono_us();
        if (record->status == 200)
            atomic_fetch_add(&pinger->n_served, 1);
        poll(NULL, 0, PAUSE_MS);
    }
    return NULL;
}

static bool are_served(void *closure)
{
    struct run *run = closure;

    for (int i = 0; i < THREADS; i++)
        if (atomic_load(&run->pingers[i].n_served) < SERVED)
            return false;
    return true;
}

/* With its own organization: the part of a limit that a killed gateway had leased is lost. */
static struct run *start(const struct replica *gateway)
{
    struct run *run = calloc(1, sizeof(*run));
    struct org org;
    char id[37];

    cr_assert_not_null(run);
    run->port = gateway->port;
    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    for (int i = 0; i < THREADS; i++) {
        run->pingers[i].run = run;
        org_new_key(&org, "read", run->pingers[i].key, id);
    }
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_create(&run->pingers[i].thread, NULL, work, &run->pingers[i]), 0);
    cr_assert(stack_wait(are_served, run, WITHIN_MS));
    return run;
}

static void stop(struct run *run)
{
    run->is_stopping = true;
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(pthread_join(run->pingers[i].thread, NULL), 0);
}

/* A thread that got no CPU time may have tried to connect before the process listened, and recorded
   the failure after the first 200. */
static bool failed_after(const struct record *record, int64_t first_us)
{
    if (record->status == NO_CONNECTION)
        return record->sent_us > first_us;
    return record->status != 200 && record->ended_us > first_us;
}

/* Covers the requests that were sent to the new process. */
static struct gateway_restart summarize(const struct run *run, int64_t start_us)
{
    struct gateway_restart restart = {.first_us = INT64_MAX, .healed_us = 0};

    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < run->pingers[i].n; j++) {
            const struct record *record = &run->pingers[i].records[j];

            if (record->sent_us < start_us)
                continue;
            if (record->status == 200 && record->ended_us - start_us < restart.first_us)
                restart.first_us = record->ended_us - start_us;
            if (record->status != 200 && record->ended_us - start_us > restart.healed_us)
                restart.healed_us = record->ended_us - start_us;
            restart.n_served += record->status == 200;
            restart.n_refused += record->status > 0 && record->status != 200;
        }
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < run->pingers[i].n; j++) {
            const struct record *record = &run->pingers[i].records[j];

            restart.n_after_served +=
                record->sent_us > start_us && failed_after(record, start_us + restart.first_us);
        }
    return restart;
}

static struct gateway_restart after_kill(struct replica *gateway)
{
    struct run *run = start(gateway);
    struct gateway_restart restart;
    int64_t start_us;

    replica_kill(gateway);
    for (int i = 0; i < THREADS; i++)
        atomic_store(&run->pingers[i].n_served, 0);
    start_us = clock_mono_us();
    replica_launch_again(gateway, (const char *const[]){NULL});
    cr_assert(stack_wait(are_served, run, WITHIN_MS), "it does not serve again");
    stop(run);
    restart = summarize(run, start_us);
    free(run);
    fprintf(stderr, "served after %lld ms, recovered after %lld ms: %d refused, %d after a 200\n",
            (long long)restart.first_us / 1000, (long long)restart.healed_us / 1000,
            restart.n_refused, restart.n_after_served);
    return restart;
}

struct gateway_restart gateway_restart_measure(int kills)
{
    struct gateway_restart all = {0};
    struct replica gateway;

    replica_start(&gateway, (const char *const[]){NULL});
    for (int i = 0; i < kills; i++) {
        const struct gateway_restart one = after_kill(&gateway);

        if (one.first_us > all.first_us)
            all.first_us = one.first_us;
        if (one.healed_us > all.healed_us)
            all.healed_us = one.healed_us;
        all.n_served += one.n_served;
        all.n_refused += one.n_refused;
        all.n_after_served += one.n_after_served;
    }
    replica_stop(&gateway);
    return all;
}
