/*
 * key_usage - counts what keys are used for, and reports it to access every USAGE_INTERVAL_MS.
 *
 * What     A used key is held and listed until it has been reported. Its counts cover one minute. A
 *          report that certainly did not arrive is sent again; while the maximum number of reports
 *          is pending, counts stay with their keys and are reported under a later minute. A report
 *          that may have arrived is not sent again: losing counts is better than counting twice.
 * Owns     Reports, and the hold on each listed key.
 * Threads  The loop's.
 */
#ifndef SERVICES_GATEWAY_KEY_USAGE_H
#define SERVICES_GATEWAY_KEY_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/list.h"

struct gateway;
struct key;
struct usage_report;

/* Of a loop. */
struct key_usage {
    struct list used;    /* since the last timer run */
    struct list due;     /* to be reported now */
    struct list reports; /* the oldest first */
    size_t n_reports;
    bool asking; /* the first is on its way */
};

/* free() it after key_usage_finish(). */
struct key_usage *key_usage_new(void);
/* A request with this key has been answered. */
void key_usage_count(struct gateway *gateway, struct key *key, int status, int64_t took_us);
/* Called by the timer. */
void key_usage_report(struct gateway *gateway);
/* Reports the remaining usage, and waits for no reply. */
void key_usage_finish(struct gateway *gateway);

#endif
