/*
 * settings - what the gateway reads from its environment.
 *
 * Threads  Read before threads start; constant afterwards.
 */
#ifndef GATEWAY_SETTINGS_H
#define GATEWAY_SETTINGS_H

#include "common/base/config.h"
#include "common/bus/bus.h"

struct settings {
    const char *address;
    int64_t port;
    int64_t tls_port;
    const char *tls_cert, *tls_key;
    const char *trusted_proxies;
    int64_t auth_failure_limit;
    int64_t command_timeout_ms;
    int64_t threads;
    int64_t max_connections;
    const char *nats_url;
    struct bus_tls bus_tls;
    const char *admin_address;
    int64_t admin_port;
    const char *log_level;
    const char *instance;
};

extern const struct setting gateway_settings[];
extern const size_t n_gateway_settings;

#endif
