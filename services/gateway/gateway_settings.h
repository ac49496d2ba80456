/*
 * gateway_settings - what the gateway reads from its environment besides struct edge_config.
 *
 * Threads  Read before threads start; constant afterwards.
 */
#ifndef GATEWAY_SETTINGS_H
#define GATEWAY_SETTINGS_H

#include "common/base/config.h"

struct gateway_settings {
    const char *address;
    int64_t port;
    int64_t tls_port;
    const char *tls_cert, *tls_key;
    int64_t auth_failure_limit;
    int64_t threads;
    int64_t usage_interval_ms;
};

#define GATEWAY_SETTINGS 8
extern const struct setting gateway_setting_table[GATEWAY_SETTINGS];

#endif
