/*
 * program - the main() of every long-running program.
 *
 * What     Reads the settings: those of every program (the bus, the admin listener, the log, the
 *          trace) and the program's own. Opens the log, prepares the process, starts the program
 *          and its admin listener, waits for SIGTERM or SIGINT, stops the program, and exits 0.
 *          --print-config, --describe-config, --version and --help print and exit.
 *
 *          A program that serves commands from the bus uses service.h, one that serves HTTP
 *          edge_program.h; both call program_main().
 * Threads  program_main() runs on the main thread and calls all hooks except is_ready and serves,
 *          which the admin thread calls. Threads that a program starts inherit this setup: no core
 *          dumps, since memory holds secrets; SIGPIPE ignored; SIGTERM and SIGINT blocked.
 * Fails    Exits with 1 if a setting is missing or malformed or the program cannot start (logged),
 *          with 2 if the command line is wrong.
 */
#ifndef COMMON_RUNTIME_PROGRAM_H
#define COMMON_RUNTIME_PROGRAM_H

#include "common/base/config.h"
#include "common/base/log.h"
#include "common/bus/bus.h"

/* Set once the settings are read. Lives as long as the process. */
struct process {
    const char *name;     /* program and replica: "webhook-0" */
    const char *instance; /* only the replica */
    const char *bus_url;  /* never logged */
    const struct bus_settings *bus_settings;
    const char *database_url; /* never logged; NULL: the program has no database */
    const char *cell;         /* its cell; NULL: `main`, or it belongs to none */
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
    struct program_settings settings[PROGRAM_SETTINGS_MAX]; /* the program's own */
    void *closure;                                          /* for the hooks */
    const char *const *cell; /* the setting with its cell; NULL: it belongs to none */
    /* Called before anything starts. False: the settings are unusable (logged). NULL = no check. */
    bool (*check)(void *closure);
    /* Opens metrics, and sets up what threads inherit or use; must not start a thread. May keep
       `process`. False: the process must end (logged); stop() and release() are called
       nevertheless. */
    bool (*open)(const struct process *process, void *closure);
    /* Starts the threads. False: as above. */
    bool (*start)(void *closure);
    /* False: not ready; `reason` has one short sentence with the cause. */
    bool (*is_ready)(void *closure, char reason[128]);
    /* Likewise, false: it does not answer requests, whether ready or not. NULL = as is_ready. */
    bool (*serves)(void *closure, char reason[128]);
    /* Fills fields for the log line "started"; returns how many. */
    size_t (*describe)(void *closure, struct log_field fields[PROGRAM_LOG_MAX]);
    /* For how many milliseconds after a signal it keeps serving, while /readyz already reports that
       it is shutting down; another signal ends this. NULL = not at all. */
    const int64_t *delay_ms;
    void (*stop)(void *closure);    /* stops taking work */
    void (*release)(void *closure); /* waits and frees, after the last is_ready(); NULL = none */
};

int program_main(int argc, char **argv, const struct program *self);

#endif
