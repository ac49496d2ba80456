#include "common/edge/edge_config.h"

#include "common/bus/settings.h"

#define AT(member) .offset = offsetof(struct edge_config, member)

const struct setting edge_settings[EDGE_SETTINGS] = {
    {.name = "TRUSTED_PROXIES",
     .type = SETTING_STRING,
     AT(trusted_proxies),
     .fallback = "",
     .meaning = "Networks (CIDR, separated by commas) whose X-Forwarded-For and X-Forwarded-Proto "
                "are believed"},
    {.name = "COMMAND_TIMEOUT_MS",
     .type = SETTING_INT,
     AT(command_timeout_ms),
     .fallback = "3000",
     .least = 100,
     .most = 12000, /* twice that, for the audit entry too, is within a client's 30 seconds */
     .meaning = "Milliseconds within which a service must have begun and ended a command"},
    {.name = "MAX_CONNECTIONS",
     .type = SETTING_INT,
     AT(max_connections),
     .fallback = "10000",
     .least = 1,
     .most = 1000000,
     .meaning = "Open connections an event loop; further ones wait to be accepted"},
    {.name = "SHUTDOWN_DELAY_MS",
     .type = SETTING_INT,
     AT(shutdown_delay_ms),
     .fallback = "0",
     .least = 0,
     .most = 60000,
     .meaning =
         "Milliseconds after SIGTERM for which it goes on serving while /readyz says that it "
         "is shutting down, so that whoever spreads the load can turn to others; a second "
         "signal ends them"},
    {.name = "NATS_URL",
     .type = SETTING_STRING,
     AT(nats_url),
     .fallback = NULL,
     .secret = true,
     .meaning = "The bus, with user and password"},
    BUS_TLS_SETTINGS(struct edge_config, nats_tls),
    {.name = "ADMIN_ADDRESS",
     .type = SETTING_STRING,
     AT(admin_address),
     .fallback = "127.0.0.1",
     .meaning = "Address of the listener for /livez, /readyz and /metrics"},
    {.name = "ADMIN_PORT",
     .type = SETTING_INT,
     AT(admin_port),
     .fallback = "0",
     .least = 0,
     .most = 65535,
     .meaning = "Port of that listener; 0 = none"},
    {.name = "LOG_LEVEL",
     .type = SETTING_STRING,
     AT(log_level),
     .fallback = "info",
     .meaning = "debug, info, warning or error"},
    {.name = "SERVICE_INSTANCE",
     .type = SETTING_STRING,
     AT(instance),
     .fallback = "0",
     .meaning = "Tells replicas apart in the log and on the bus"},
    TRACE_SETTINGS(struct edge_config, trace),
};
