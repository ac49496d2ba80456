/* dashboard - the pages on which users manage their organization, and the data behind them. */
#include "services/dashboard/dashboard.h"

#include <stdlib.h>

#include "common/base/arena.h"
#include "common/base/log.h"
#include "common/bus/bus.h"
#include "common/crypto/crypto.h"
#include "common/json/json.h"
#include "common/runtime/edge_program.h"
#include "services/dashboard/dashboard_handler.h"
#include "services/dashboard/dashboard_metrics.h"

/* Users would rather wait a moment than see an error. */
#define BUS_TIMEOUT_MS 1500

/* -- settings -------------------------------------------------------------------------------- */

struct dashboard_config {
    const char *address;
    int64_t port;
    const char *base_url;        /* of the API, as the pages show it */
    int64_t requests_per_second; /* of a session */
    bool shows_services;
};

/* Constant once threads run. */
static struct dashboard_config config;

#define AT(member) .offset = offsetof(struct dashboard_config, member)

static const struct setting settings[] = {
    {.name = "DASHBOARD_ADDRESS",
     .type = SETTING_ADDRESS,
     AT(address),
     .fallback = "127.0.0.1",
     .meaning = "Address the dashboard listens on"},
    {.name = "DASHBOARD_PORT",
     .type = SETTING_INT,
     AT(port),
     .fallback = "8081",
     .min = 1,
     .max = 65535,
     .meaning = "Port the dashboard listens on"},
    {.name = "PUBLIC_BASE_URL",
     .type = SETTING_STRING,
     AT(base_url),
     .fallback = "http://127.0.0.1:8080/api/v1",
     .meaning = "URL of the API that the pages show to customers"},
    {.name = "DASHBOARD_REQUESTS_PER_SECOND",
     .type = SETTING_INT,
     AT(requests_per_second),
     .fallback = "20",
     .min = 5,
     .max = 100000,
     .meaning =
         "Requests for data per second and session, 2.5 times as many in a burst, 0.4 times as "
         "many in flight; all sessions of an organization together have three times that"},
    {.name = "DASHBOARD_SHOW_SERVICES",
     .type = SETTING_BOOL,
     AT(shows_services),
     .fallback = "true",
     .meaning = "The overview shows owners of every organization which services run, how many "
                "replicas of each, and how far behind the audit log's seal and the webhooks are"},
};

/* -- the loop -------------------------------------------------------------------------------- */

/* Invalid sessions per minute and address. A browser may send its session a few more times after it
   has ended. */
#define STRANGERS_MAX 300
/* An organization's share, as a multiple of a session's. */
#define ORGANIZATION_SESSIONS 3

/* Of an organization. What changes something leaves an entry in the log of changes that stays for
   ever, of up to 40 KB, so this bounds what a session can write. A person is never as fast. */
static const struct share_limit changes_limit = {.per_second = 1, .burst = 300, .at_once = 48};

static struct share_limit limit_of(int64_t sessions)
{
    const uint32_t per_second = (uint32_t)(config.requests_per_second * sessions);

    return (struct share_limit){
        .per_second = per_second, .burst = per_second * 5 / 2, .at_once = per_second * 2 / 5};
}

static void on_open(struct edge *edge)
{
    struct dashboard *dashboard = H2O_STRUCT_FROM_MEMBER(struct dashboard, edge, edge);
    const struct share_limit of_session = limit_of(1);
    const struct share_limit of_organization = limit_of(ORGANIZATION_SESSIONS);
    uint64_t seed;

    crypto_random(&seed, sizeof(seed));
    dashboard->sessions = shares_new(&of_session, seed);
    dashboard->organizations = shares_new(&of_organization, seed);
    dashboard->changes = shares_new(&changes_limit, seed);
    door_init(&dashboard->door, &edge->timers, seed);
    dashboard->base_url = config.base_url;
    dashboard->strangers = throttle_new(STRANGERS_MAX, seed);
    dashboard->shows_services = config.shows_services;
    deployment_init(&dashboard->deployment, &edge->timers, edge->bus);
}

static struct edge *new_loop(void)
{
    struct dashboard *dashboard = heap_zeroed(1, sizeof(*dashboard));

    return &dashboard->edge;
}

/* -- the program ----------------------------------------------------------------------------- */

static bool open_program(struct edge_options *options)
{
    dashboard_metrics_open();
    json_wipe_what_is_freed();
    bus_wipe_what_is_freed();
    options->address = config.address;
    options->port = (uint16_t)config.port;
    options->hooks.on_open = on_open;
    return true;
}

static const struct edge_program program = {
    .name = "dashboard",
    .user = BUS_USER_DASHBOARD,
    .settings = settings,
    .n_settings = ARRAY_SIZE(settings),
    .config = &config,
    .on_request = dashboard_handle,
    .calls_max = DASHBOARD_REQUESTS_MAX,
    .bus_timeout_ms = BUS_TIMEOUT_MS,
    .open = open_program,
    .new_loop = new_loop,
};

int main(int argc, char **argv)
{
    return edge_program_main(argc, argv, &program);
}
