/*
 * edge_config - the settings that every program at the edge reads, as texts and numbers of the
 * environment.
 *
 * Threads  Read before threads start; constant afterwards.
 */
#ifndef COMMON_EDGE_EDGE_CONFIG_H
#define COMMON_EDGE_EDGE_CONFIG_H

#include "common/base/config.h"
#include "common/bus/bus.h"
#include "common/trace/settings.h"

struct edge_config {
    const char *trusted_proxies;
    int64_t command_timeout_ms;
    int64_t max_connections;
    int64_t shutdown_delay_ms;
    const char *nats_url;
    struct bus_tls nats_tls;
    const char *admin_address;
    int64_t admin_port;
    const char *log_level;
    const char *instance;
    struct trace_settings trace;
};

#define EDGE_SETTINGS 17
extern const struct setting edge_settings[EDGE_SETTINGS];

#endif
