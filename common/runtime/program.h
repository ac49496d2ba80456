/*
 * program - the main() of every long-running program.
 *
 * What     Reads the settings: those that every program has (the bus, the admin listener, the log,
 *          the trace) and the program's. Opens the log, prepares the process, starts the program
 *          and its admin listener, waits for SIGTERM or SIGINT, lets the program stop, and exits 0.
 *          --print-config, --describe-config, --version and --help answer and exit.
 *
 *          A program that serves commands from the bus goes through service.h, one that serves HTTP
 *          through edge_program.h; both come here.
 * Threads  program_main() is the main thread, and calls all hooks but is_ready and serves, which
 *          the admin thread calls. Threads that a program starts inherit this set-up: no core dumps,
 *          since memory holds secrets; SIGPIPE ignored; SIGTERM and SIGINT blocked.
 * Fails    Exits 1 when a setting is missing or malformed or the program cannot start (logged), 2
 *          when the command line is wrong.
 */
#ifndef COMMON_RUNTIME_PROGRAM_H
#define COMMON_RUNTIME_PROGRAM_H

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/bus/bus.h"

/* The process, once its settings are read. Lives as long as the process. */
struct process {
    const char *name;     /* program and replica: "webhook-0" */
    const char *instance; /* the replica alone */
    const char *bus_url;  /* never logged */
    const struct bus_tls *bus_tls;
    const char *database_url; /* never logged; NULL where a program has no database */
    const char *cell;         /* whose services it is one of; NULL: of none but `main` */
    bool logs_all;            /* LOG_LEVEL is debug */
};

struct program_settings {
    const struct setting *table;
    size_t n;
    void *into;
};

enum { PROGRAM_SETTINGS_MAX = 2, PROGRAM_LOG_MAX = 3 };

struct program {
    const char *name;
    struct program_settings settings[PROGRAM_SETTINGS_MAX]; /* and those of every program */
    void *closure;                                          /* for the hooks */
    const char *const *cell; /* a setting: as in `process`. NULL: it is of no cell */
    /* False: the settings do not do (logged). Before anything starts. NULL = they do. */
    bool (*check)(void *closure);
    /* Metrics, and what threads inherit or find set: no thread is started here. `process` may be
       kept. False: the process is to end (logged); stop() and release() are called all the same. */
    bool (*open)(const struct process *process, void *closure);
    /* The threads. False: as above. */
    bool (*start)(void *closure);
    /* False: not ready, and `reason` holds why in one short sentence. */
    bool (*is_ready)(void *closure, char reason[128]);
    /* Likewise: it does not answer requests, be it ready or not. NULL = it does when it is ready. */
    bool (*serves)(void *closure, char reason[128]);
    /* What the log says of it once it is ready to serve: how many fields there are. */
    size_t (*describe)(void *closure, struct log_field fields[PROGRAM_LOG_MAX]);
    /* For so many milliseconds after a signal it serves on, while /readyz says already that it is
       shutting down; another signal ends this. NULL = not at all. */
    const int64_t *delay_ms;
    void (*stop)(void *closure);    /* stops taking work */
    void (*release)(void *closure); /* is_ready is called no more: waits and frees; NULL = none */
};

int program_main(int argc, char **argv, const struct program *self);

#endif
