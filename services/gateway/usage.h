/*
 * usage - what keys were used for: counted beside the requests, told to access every
 * USAGE_INTERVAL_MS.
 *
 * What     A key that was used is held and listed until access has been told. Its counts are those
 *          of one minute. A report that certainly did not arrive is sent again; while as many wait
 *          as may, counts stay with their keys, to be told under a later minute. A report of which
 *          it is not known whether it arrived is not sent again: counts are lost rather than
 *          counted twice.
 * Owns     Reports, and the hold on each key listed.
 * Threads  The loop's.
 */
#ifndef GATEWAY_USAGE_H
#define GATEWAY_USAGE_H

#include <h2o.h>
#include <stdbool.h>

#include "proto/usage.h"

struct gateway;
struct key;
struct report;

/* A part of struct key. */
struct tally {
    h2o_linklist_t listed; /* unless nothing is counted */
    int64_t minute;        /* Unix seconds / 60 */
    uint32_t outcomes[USAGE_OUTCOMES], latency[USAGE_BUCKETS];
};

/* A part of struct gateway. */
struct usage {
    h2o_linklist_t used; /* since the last turn */
    h2o_linklist_t due;  /* to be told now */
    struct report *first, *last;
    size_t n_reports;
    bool asking; /* the first is on its way */
};

void usage_init(struct usage *usage);
/* A request with this key has been answered. */
void usage_count(struct gateway *gateway, struct key *key, int status, int64_t took_us);
/* A turn of the timer. */
void usage_tell(struct gateway *gateway);
/* Tells what is left, and waits for no answer. */
void usage_finish(struct gateway *gateway);

#endif
