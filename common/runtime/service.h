/*
 * service - the main() of a program that serves commands from the bus.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return service_main(argc, argv, &conversation_service, NULL);
 *     }
 *
 * What     A program (program.h) of actors: DATABASE_URL and ACTORS are its settings, besides the
 *          service's. After a signal the actors stop taking commands and finish those that wait.
 * Threads  As program.h.
 * Fails    As program.h; open() and start() of the service's own say by their status that they did.
 */
#ifndef COMMON_RUNTIME_SERVICE_H
#define COMMON_RUNTIME_SERVICE_H

#include "common/actor/actor.h"
#include "common/runtime/program.h"

struct service_extra {
    const struct setting *settings; /* the service's own, into *config */
    size_t n_settings;
    void *config;
    /* After the settings are read, before actors start; ST_OK or the process exits 1. */
    enum status (*open)(struct service *service, void *config);
    /* A part of the process beside its actors: started after open, asked for /readyz (on the admin
       thread), stopped with the actors. NULL = none. */
    enum status (*start)(const struct process *process, void *config);
    bool (*is_ready)(char reason[128]);
    void (*stop)(void);
};

int service_main(int argc, char **argv, struct service *service, const struct service_extra *extra);

#endif
