/*
 * gateway_restart - measures how a gateway recovers after it is killed under load.
 *
 * What     Kills a gateway and starts it again at once. Threads, each with its own key, send one
 *          ping after the other, each over a new connection, from before the kill until the new
 *          process has served all threads. Every response is recorded.
 * Threads  The test's main thread.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_GATEWAY_RESTART_H
#define TESTS_SUPPORT_GATEWAY_RESTART_H

#include <stdint.h>

struct gateway_restart {
    int64_t first_us;   /* from the start of the process to its first 200 */
    int64_t healed_us;  /* also from the start, to the end of the last request without a response */
    int n_served;       /* 200, from the new process */
    int n_refused;      /* other responses of the new process */
    int n_after_served; /* of these, the ones after its first 200 */
};

/* Kills a gateway that many times; returns the longest times and the sums of the counts. */
struct gateway_restart gateway_restart_measure(int kills);

#endif
