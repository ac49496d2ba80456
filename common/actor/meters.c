#include "common/actor/meters.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "common/bus/bus.h"

static void add_outcomes(struct route_meters *meters, const struct service *service)
{
    char labels[160];

    for (size_t i = 0; i < service->n_routes; i++)
        for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++) {
            snprintf(labels, sizeof(labels), "route=\"%s\",outcome=\"%s\"",
                     service->routes[i].subject, outcome_name((enum outcome)outcome));
            meters[i].outcomes[outcome] = metric_counter("conversations_commands_total", labels,
                                                         "Commands answered, by how they ended");
        }
}

static void add_seconds(struct route_meters *meters, const struct service *service)
{
    char labels[160];

    for (size_t i = 0; i < service->n_routes; i++) {
        snprintf(labels, sizeof(labels), "route=\"%s\"", service->routes[i].subject);
        meters[i].seconds = metric_histogram_seconds("conversations_command_seconds", labels,
                                                     "From a command's arrival to its reply");
    }
}

struct route_meters *meters_of(const struct meters *meters, const struct service *service)
{
    struct route_meters *of = meters->routes;

    for (const struct service *at = meters->service; at->routes != service->routes; at = at->beside)
        of += at->n_routes;
    return of;
}

/* Series of one name are registered next to each other, hence two loops. */
static void add_routes(struct meters *meters)
{
    const struct service *first = meters->service, *at;
    size_t n = 0;

    for (at = first; at != NULL; at = at->beside)
        n += at->n_routes;
    must(n > 0);
    meters->routes = calloc(n, sizeof(*meters->routes));
    must(meters->routes != NULL);
    for (at = first; at != NULL; at = at->beside)
        add_outcomes(meters_of(meters, at), at);
    for (at = first; at != NULL; at = at->beside)
        add_seconds(meters_of(meters, at), at);
}

struct meters *meters_new(const struct service *service)
{
    struct meters *meters = calloc(1, sizeof(*meters));

    must(meters != NULL);
    meters->service = service;
    add_routes(meters);
    bus_meter_open();
    meters->batch_size =
        metric_histogram_count("conversations_batch_size", NULL, "Commands in one transaction");
    meters->commit_seconds = metric_histogram_seconds("conversations_commit_seconds", NULL,
                                                      "Round trip that ends in a commit");
    meters->waiting = metric_gauge("conversations_mailbox_waiting", NULL, "Commands not begun");
    meters->expired =
        metric_counter("conversations_commands_expired_total", NULL,
                       "Commands not run because their deadline had passed, or would have");
    meters->busy = metric_counter("conversations_commands_busy_total", NULL,
                                  "Commands turned away because the mailbox was full");
    meters->uncertain =
        metric_counter("conversations_commands_uncertain_total", NULL,
                       "Commands of which it is not known whether they were written");
    meters->fallbacks = metric_counter("conversations_batch_fallback_total", NULL,
                                       "Batches that failed and were run one by one");
    meters->lost_replies = metric_counter("conversations_replies_lost_total", NULL,
                                          "Replies that the bus did not take");
    meters->database_up =
        metric_gauge("conversations_database_up", NULL, "Actors whose database link is up");
    meters->bus_up = metric_gauge("conversations_bus_up", NULL, "Actors whose bus link is up");
    return meters;
}

void meters_free(struct meters *meters)
{
    if (meters == NULL)
        return;
    free(meters->routes);
    free(meters);
}
