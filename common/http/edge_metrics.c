#include "common/http/edge_metrics.h"

#include <stdio.h>

#include "common/bus/bus.h"

#define NAME_CAPACITY 96

struct edge_metrics edge_metrics;

static struct metric *open_one(struct metric *(*kind)(const char *, const char *, const char *),
                               const char *prefix, const char *name, const char *help)
{
    char full[NAME_CAPACITY];

    snprintf(full, sizeof(full), "%s%s", prefix, name);
    return kind(full, NULL, help);
}

static struct metric *open_clock(const char *prefix, const char *label)
{
    char full[NAME_CAPACITY];

    snprintf(full, sizeof(full), "%sclock_skew_seconds", prefix);
    return metric_gauge(full, label,
                        "Seconds that our clock is ahead of that of access, of its database or of "
                        "our machine, rounded up; negative: behind");
}

void edge_metrics_open(const char *prefix)
{
    bus_metrics_open();
    edge_metrics = (struct edge_metrics){
        .in_flight = open_one(metric_gauge, prefix, "requests_in_flight", "Requests in flight"),
        .connections = open_one(metric_gauge, prefix, "connections", "Open client connections"),
        .connections_refused = open_one(metric_counter, prefix, "connections_refused_total",
                                        "Connections rejected because their address has too many"),
        .connections_shed = open_one(metric_counter, prefix, "connections_shed_total",
                                     "Idle connections closed to make room for others"),
        .loops_ready = open_one(metric_gauge, prefix, "bus_up",
                                "Event loops whose bus connection is up and responds"),
        .framing_errors = open_one(metric_counter, prefix, "framing_errors_total",
                                   "Requests with invalid framing or of excessive size"),
        .late_replies = open_one(metric_counter, prefix, "late_replies_total",
                                 "Replies that arrived soon after their request had ended"),
        .heartbeats_missed = open_one(metric_counter, prefix, "heartbeats_missed_total",
                                      "Timer ticks without a heartbeat from the bus"),
        .clock_skew = {[CLOCK_OF_ACCESS] = open_clock(prefix, "from=\"access\""),
                       [CLOCK_OF_DATABASE] = open_clock(prefix, "from=\"database\"")},
        .clock_jump = open_clock(prefix, "from=\"machine\""),
        .clock_checks = open_one(metric_counter, prefix, "clock_checks_total",
                                 "Replies from access that carried its time"),
        .slow_readers = open_one(metric_counter, prefix, "slow_readers_total",
                                 "Connections closed because the client did not read the response"),
    };
}
