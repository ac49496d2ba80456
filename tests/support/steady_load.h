/*
 * steady_load - clients that repeat the same few requests at a steady rate.
 *
 * What     The test gives the requests as bytes; they are sent in turn. Of each response only the
 *          status is counted. A client sends nothing while it waits for a response.
 * Owns     The requests belong to the test and must live until steady_load_stop().
 * Threads  One per client, between steady_load_start() and steady_load_stop(); everything else is
 *          for the test's thread.
 * Fails    Fails the test if it cannot connect.
 */
#ifndef TESTS_SUPPORT_STEADY_LOAD_H
#define TESTS_SUPPORT_STEADY_LOAD_H

#include <pthread.h>
#include <stdint.h>

enum { STEADY_LOAD_CLIENTS = 32, REQUESTS_MAX = 8 };

struct steady_load;

struct steady_load_count {
    int responses, refused; /* status 200; 429 and 503 */
};

struct steady_load_client {
    const struct steady_load *load;
    pthread_t thread;
    int number;
    struct steady_load_count count;
};

struct steady_load {
    int port, per_second; /* the maximum of all together */
    const char *requests[REQUESTS_MAX];
    int n_requests;
    int64_t end_us; /* clock_mono_us() */
    struct steady_load_client members[STEADY_LOAD_CLIENTS];
};

void steady_load_start(struct steady_load *load, int64_t end_us);
struct steady_load_count steady_load_stop(struct steady_load *load);

#endif
