#include "common/edge/edge_meter.h"

#include <stdio.h>

#include "common/bus/bus.h"

#define NAME_ROOM 96

struct edge_meter edge_meter;

static struct metric *open_one(struct metric *(*kind)(const char *, const char *, const char *),
                               const char *prefix, const char *name, const char *help)
{
    char full[NAME_ROOM];

    snprintf(full, sizeof(full), "%s%s", prefix, name);
    return kind(full, NULL, help);
}

void edge_meter_open(const char *prefix)
{
    bus_meter_open();
    edge_meter = (struct edge_meter){
        .in_flight =
            open_one(metric_gauge, prefix, "requests_in_flight", "Requests not answered yet"),
        .connections = open_one(metric_gauge, prefix, "connections", "Open client connections"),
        .loops_ready =
            open_one(metric_gauge, prefix, "bus_up", "Event loops whose bus is up and answers"),
        .framing_faults = open_one(metric_counter, prefix, "framing_faults_total",
                                   "Requests whose framing is unsound or too large"),
        .late_replies = open_one(metric_counter, prefix, "late_replies_total",
                                 "Replies nobody waited for any more"),
        .pulses_missed = open_one(metric_counter, prefix, "pulses_missed_total",
                                  "Turns without a sign of the bus"),
        .slow_readers = open_one(metric_counter, prefix, "slow_readers_total",
                                 "Connections closed because an answer was not taken"),
    };
}
