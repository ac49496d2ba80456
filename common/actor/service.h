/*
 * service - the main loop that every service shares.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return service_main(argc, argv, &conversation_service, NULL);
 *     }
 *
 * What     Reads the settings (NATS_URL and how to trust it, DATABASE_URL, ADMIN_ADDRESS,
 *          ADMIN_PORT, ACTORS, LOG_LEVEL, SERVICE_INSTANCE and the service's own), opens the log
 *          and the admin listener, starts the actors and waits for SIGTERM or SIGINT; then stops
 *          taking, finishes what waits, and exits 0. --print-config, --describe-config, --version
 *          and --help answer and exit.
 */
#ifndef COMMON_ACTOR_SERVICE_H
#define COMMON_ACTOR_SERVICE_H

#include "common/actor/actor.h"
#include "common/base/config.h"

/* What a part that runs beside the actors needs to know. Lives as long as the process. */
struct service_process {
    const char *name;    /* "webhook-0" */
    const char *bus_url; /* never logged */
    const struct bus_tls *bus_tls;
    const char *database_url; /* never logged */
};

struct service_extra {
    const struct setting *settings; /* the service's own, into *config */
    size_t n_settings;
    void *config;
    /* After the settings are read, before actors start; ST_OK or the process exits 1. */
    enum status (*open)(struct service *service, void *config);
    /* A part of the process beside its actors: started after open, asked for /readyz (on the admin
       thread), stopped with the actors. NULL = none. */
    enum status (*start)(const struct service_process *process, void *config);
    bool (*is_ready)(char reason[128]);
    void (*stop)(void);
};

int service_main(int argc, char **argv, struct service *service, const struct service_extra *extra);

#endif
