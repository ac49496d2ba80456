/*
 * load - a stream of requests during a test, with a consistency check afterwards.
 *
 * What     Threads send creates, updates, reads, searches and pings in turn, paced to a rate, and
 *          record every response. The consistency check compares the responses with the database: a
 *          success is stored once and has one audit entry, a 503 has no effect, and anything else
 *          that was written has exactly one entry too.
 * Owns     load_start() returns a load that lives until the test's process ends.
 * Threads  Its own, between start and stop; everything else is for the test's thread.
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
    int status;      /* 0 = no response */
    int64_t sent_us; /* clock_mono_us() */
    int64_t took_us;
    char request_id[37];
};

struct load *load_start(const struct org *org, int per_second);
/* The same through a base URL other than BASE_URL. */
struct load *load_start_at(const char *base, const struct org *org, int per_second);
/* Waits until that many responses in a row, from now on, are successes; false if the time is
   over. */
bool load_await_served(struct load *load, int responses, int timeout_ms);
void load_stop(struct load *load);

/* Valid after load_stop(). */
int load_count(const struct load *load);
const struct load_record *load_record(const struct load *load, int i);

/* Of the requests that were sent and answered between two moments: their number, and how many of
   them failed. */
int load_sent(const struct load *load, int64_t from_us, int64_t to_us);
int load_failures(const struct load *load, int64_t from_us, int64_t to_us);
/* Prints the first failures among requests sent from then on, on standard error, for diagnosis. */
void load_tell_failures(const struct load *load, int64_t from_us);
/* When the last request that was not a success was sent; 0 = all were successes. */
int64_t load_last_failure_us(const struct load *load);
/* Expects that every response is a success or a 503; returns the number of the latter. */
int load_expect_refusals_only(const struct load *load);
/* The longest time from the first to the last response 503 of the requests sent between one of
   these moments and the next, or after the last of them. */
int64_t load_longest_refusal_us(const struct load *load, const int64_t *moments_us, int n);
void load_check_consistency(const struct load *load);

#endif
