/*
 * service - the main() of a program that serves commands from the bus.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return service_main(argc, argv, &conversation_service, NULL);
 *     }
 *
 * What     A program (program.h) of actors, with the settings DATABASE_URL, CELL and ACTORS and the
 *          service's own. After a signal the actors stop taking commands and finish those that wait.
 * Threads  As program.h.
 * Fails    As program.h; the service's own open() and start() report failure by their status.
 */
#ifndef COMMON_RUNTIME_SERVICE_H
#define COMMON_RUNTIME_SERVICE_H

#include "common/actor/actor.h"
#include "common/runtime/program.h"

struct service_extra {
    const struct setting *settings; /* the service's own, into *config */
    size_t n_settings;
    void *config;
    /* Called after the settings are read and before actors start. Not ST_OK: the process exits with
       1. */
    enum status (*open)(struct service *service, void *config);
    /* A part of the process other than its actors: started after open(), asked for /readyz (on the
       admin thread), stopped with the actors. NULL = none. */
    enum status (*start)(const struct process *process, void *config);
    bool (*is_ready)(char reason[128]);
    void (*stop)(void);
};

int service_main(int argc, char **argv, struct service *service, const struct service_extra *extra);

#endif
