#include "services/dashboard/dashboard.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "services/dashboard/dashboard_meter.h"
#include "services/dashboard/dialog.h"

/* People rather wait a moment than read that something failed. */
#define BUS_PATIENCE_MS 1500

#define AT(member) .offset = offsetof(struct dashboard_settings, member)

static const struct setting settings[] = {
    {.name = "DASHBOARD_ADDRESS",
     .type = SETTING_STRING,
     AT(address),
     .fallback = "127.0.0.1",
     .meaning = "Address the dashboard listens on"},
    {.name = "DASHBOARD_PORT",
     .type = SETTING_INT,
     AT(port),
     .fallback = "8081",
     .least = 1,
     .most = 65535,
     .meaning = "Port the dashboard listens on"},
    {.name = "PUBLIC_BASE_URL",
     .type = SETTING_STRING,
     AT(base_url),
     .fallback = "http://127.0.0.1:8080/api/v1",
     .meaning = "Where customers reach the API, as the pages show it"},
};

struct dashboard_settings dashboard_settings;

static bool open_program(struct edge_options *options)
{
    dashboard_meter_open();
    options->address = dashboard_settings.address;
    options->port = (uint16_t)dashboard_settings.port;
    return true;
}

static struct edge *new_loop(void)
{
    struct edge *edge = calloc(1, sizeof(*edge));

    must(edge != NULL);
    return edge;
}

const struct program dashboard_program = {
    .name = "dashboard",
    .user = BUS_USER_DASHBOARD,
    .settings = settings,
    .n_settings = sizeof(settings) / sizeof(settings[0]),
    .config = &dashboard_settings,
    .on_request = dialog_begin,
    .calls_most = DIALOGS_MOST,
    .bus_patience_ms = BUS_PATIENCE_MS,
    .open = open_program,
    .new_loop = new_loop,
};
