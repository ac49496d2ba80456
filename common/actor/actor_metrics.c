#include "common/actor/actor_metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/bus/bus.h"

static void add_outcomes(struct route_metrics *metrics, const struct service *service)
{
    char labels[160];

    /* Most commands can end in only a few outcomes, and there are dozens of both, so a series is
       shown once it is used. Other series show whether a service is there at all
       (deploy/monitoring/alerts.yaml). */
    for (size_t i = 0; i < service->n_handlers; i++)
        for (int outcome = 0; outcome < OUTCOME_COUNT; outcome++) {
            snprintf(labels, sizeof(labels), "route=\"%s\",outcome=\"%s\"",
                     service->handlers[i]->subject, outcome_name((enum outcome)outcome));
            metrics[i].outcomes[outcome] = metric_counter("conversations_commands_total", labels,
                                                          "Commands completed, by outcome");
            metric_show_when_used(metrics[i].outcomes[outcome]);
        }
}

static void add_seconds(struct route_metrics *metrics, const struct service *service)
{
    char labels[160];

    for (size_t i = 0; i < service->n_handlers; i++) {
        snprintf(labels, sizeof(labels), "route=\"%s\"", service->handlers[i]->subject);
        metrics[i].seconds = metric_histogram_seconds("conversations_command_seconds", labels,
                                                      "From a command's arrival to its reply");
    }
}

struct route_metrics *actor_metrics_of(const struct actor_metrics *metrics,
                                       const struct service *service)
{
    struct route_metrics *of = metrics->routes;

    for (const struct service *at = metrics->service; at->handlers != service->handlers;
         at = at->next_in_process)
        of += at->n_handlers;
    return of;
}

/* Two loops, since series of one name are registered next to each other. */
static void add_routes(struct actor_metrics *metrics)
{
    const struct service *first = metrics->service, *at;
    size_t n = 0;

    for (at = first; at != NULL; at = at->next_in_process)
        n += at->n_handlers;
    must(n > 0);
    metrics->routes = heap_zeroed(n, sizeof(*metrics->routes));
    for (at = first; at != NULL; at = at->next_in_process)
        add_outcomes(actor_metrics_of(metrics, at), at);
    for (at = first; at != NULL; at = at->next_in_process)
        add_seconds(actor_metrics_of(metrics, at), at);
}

struct actor_metrics *actor_metrics_new(const struct service *service)
{
    struct actor_metrics *metrics = heap_zeroed(1, sizeof(*metrics));

    metrics->service = service;
    add_routes(metrics);
    bus_metrics_open();
    metrics->batch_size =
        metric_histogram_count("conversations_batch_size", NULL, "Commands in one transaction");
    metrics->commit_seconds = metric_histogram_seconds("conversations_commit_seconds", NULL,
                                                       "Database round trip that ends in a commit");
    metrics->waiting =
        metric_gauge("conversations_mailbox_waiting", NULL, "Commands waiting to start");
    metrics->expired = metric_counter("conversations_commands_expired_total", NULL,
                                      "Commands not run because their deadline had passed");
    metrics->busy = metric_counter("conversations_commands_busy_total", NULL,
                                   "Commands rejected because the queue or the slow lane was full");
    metrics->uncertain = metric_counter("conversations_commands_uncertain_total", NULL,
                                        "Commands whose outcome is unknown");
    metrics->fallbacks = metric_counter("conversations_batch_fallback_total", NULL,
                                        "Transactions that failed and were retried in parts");
    metrics->deferred =
        metric_counter("conversations_commands_deferred_total", NULL,
                       "Commands requeued because they lost a race, their rows were locked, "
                       "or a batch was full");
    metrics->slow_lane =
        metric_counter("conversations_commands_slow_lane_total", NULL,
                       "Commands run in the slow lane, for organizations that send expensive ones");
    metrics->lock_refusals = metric_counter(
        "conversations_lock_refusals_total", NULL,
        "Commands and transactions that gave up because rows or tables stayed locked");
    metrics->hung_sessions =
        metric_counter("conversations_hung_sessions_ended_total", NULL,
                       "Database sessions ended because their program hung in a transaction");
    metrics->lost_replies =
        metric_counter("conversations_replies_lost_total", NULL, "Replies that could not be sent");
    metrics->database_up =
        metric_gauge("conversations_database_up", NULL, "Actors with a database connection");
    metrics->database_clock =
        metric_gauge("conversations_clock_skew_seconds", "from=\"database\"",
                     "Seconds that our clock is ahead of the database's, rounded up; negative: "
                     "behind");
    metrics->bus_up = metric_gauge("conversations_bus_up", NULL, "Actors with a bus connection");
    return metrics;
}

void actor_metrics_free(struct actor_metrics *metrics)
{
    if (metrics == NULL)
        return;
    free(metrics->routes);
    free(metrics);
}
