#include "common/edge/edge_config.h"

#include "common/bus/settings.h"

#define AT(member) .offset = offsetof(struct edge_config, member)

const struct setting edge_settings[EDGE_SETTINGS] = {
    {.name = "TRUSTED_PROXIES",
     .type = SETTING_STRING,
     AT(trusted_proxies),
     .fallback = "",
     .meaning = "Networks (CIDR, separated by commas) whose X-Forwarded-For and X-Forwarded-Proto "
                "are trusted"},
    {.name = "COMMAND_TIMEOUT_MS",
     .type = SETTING_INT,
     AT(command_timeout_ms),
     .fallback = "3000",
     .min = 100,
     .max = 12000, /* twice that, for the audit entry too, is within a client's 30 seconds */
     .meaning = "Timeout in milliseconds of a command to a service"},
    {.name = "MAX_CONNECTIONS",
     .type = SETTING_INT,
     AT(max_connections),
     .fallback = "10000",
     .min = 1,
     .max = 1000000,
     .meaning = "Open connections per event loop. One address (of IPv6 a /64) that is in no "
                "TRUSTED_PROXIES has a sixteenth of them, and the network around it (a /24, of "
                "IPv6 a /48) "
                "a quarter; when all are open, an idle one is closed"},
    {.name = "SHUTDOWN_DELAY_MS",
     .type = SETTING_INT,
     AT(shutdown_delay_ms),
     .fallback = "0",
     .min = 0,
     .max = 60000,
     .meaning = "Milliseconds after SIGTERM for which it keeps serving while /readyz says that it "
                "is shutting down, so that load balancers stop sending; a second signal stops "
                "it at once"},
    {.name = "NATS_URL",
     .type = SETTING_STRING,
     AT(nats_url),
     .fallback = NULL,
     .secret = true,
     .meaning = "NATS URL with credentials"},
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
     .min = 0,
     .max = 65535,
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
     .meaning = "Distinguishes replicas in the log and on the bus"},
    TRACE_SETTINGS(struct edge_config, trace),
};
