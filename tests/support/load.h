/*
 * load - a stream of requests during a test, with a consistency check afterwards.
 *
 * What     Threads send creates, updates, reads, searches and pings in turn, paced to a rate, and
 *          record every response. The consistency check compares the responses with the database:
 *          a success is stored once and has one audit entry, a 503 has left nothing, and
 *          whatever else was written has its one entry too.
 * Owns     load_start() gives a load that lives until the test's process ends.
 * Threads  Its own, between start and stop; all else belongs to the test's.
 * Fails    Fails the test.
 */
#ifndef TESTS_SUPPORT_LOAD_H
#define TESTS_SUPPORT_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/support/api_client.h"

struct load;

enum load_kind { LOAD_CREATE, LOAD_UPDATE, LOAD_GET, LOAD_SEARCH, LOAD_PING, LOAD_KINDS };

struct load_record {
    enum load_kind kind;
    int thread;
    int number;      /* unique: part of what the request writes */
    int status;      /* 0 = no answer */
    int64_t sent_us; /* clock_mono_us() */
    int64_t took_us;
    char request_id[37];
};

struct load *load_start(const struct org *org, int per_second);
/* The same through another base than BASE_URL. */
struct load *load_start_at(const char *base, const struct org *org, int per_second);
/* Waits until so many answers in a row, from now on, were successes; false when the time is over.
 */
bool load_await_served(struct load *load, int responses, int timeout_ms);
void load_stop(struct load *load);

/* Valid after load_stop(). */
int load_count(const struct load *load);
const struct load_record *load_record(const struct load *load, int i);

/* Of the requests that were sent and answered between two moments, how many there are, and how many
   of them failed. */
int load_sent(const struct load *load, int64_t from_us, int64_t to_us);
int load_failures(const struct load *load, int64_t from_us, int64_t to_us);
/* The first of those that were sent from then on, on standard error: for finding out why.
 */
void load_tell_failures(const struct load *load, int64_t from_us);
/* When the last request that was not answered with success was sent; 0 = all were. */
int64_t load_last_failure_us(const struct load *load);
/* How many were refused with 503; every other one is to be a success. */
int load_expect_refusals_only(const struct load *load);
/* The longest time from the first answer 503 to the last, of the requests that were sent between one of these moments
   and the next, or after the last of them. */
int64_t load_longest_refusal_us(const struct load *load, const int64_t *moments_us, int n);
void load_check_consistency(const struct load *load);

#endif
