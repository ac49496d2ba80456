/*
 * workload - requests of every kind at a steady rate, from a seed, to both gateways, for two
 * organizations that use the same external ids.
 *
 * What     An open loop: the nth request is due at n / rate, whatever happens to earlier ones,
 *          unless all its workers, WORKLOAD_WORKERS at most, are waiting. workload_requests.h
 *          decides what it is.
 * Owns     Its threads, between workload_start() and workload_stop().
 * Threads  The test's main thread.
 * Fails    Fails the test if a request cannot be made; any response, or none, is fine here.
 */
#ifndef TESTS_FAULTS_WORKLOAD_H
#define TESTS_FAULTS_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/faults/workload_requests.h"

enum { WORKLOAD_WORKERS = 384 };

struct workload_counts {
    long long requests;       /* a search of several pages is one, and so is a racing pair */
    long long good;           /* of these, the ones with only expected responses */
    long long failed_answers; /* unexpected, or missing */
    int64_t latest_us;        /* the longest delay of a request after it was due */
};

void workload_start(const struct org orgs[WORKLOAD_ORGS], uint64_t seed, int per_second,
                    int n_workers);
struct workload_counts workload_stop(void);

#endif
