/*
 * program - the main() of a program that speaks HTTP at the edge and asks services over the bus.
 *
 * What     Reads the settings (those of struct edge_config and the program's own), opens the log,
 *          the metrics and the admin listener, starts the loops and waits for SIGTERM or SIGINT.
 *          Then it is not ready any more, serves on for SHUTDOWN_DELAY_MS, stops the loops when
 *          what they have begun is answered, and exits 0. --print-config, --describe-config,
 *          --version and --help answer and exit.
 * Threads  program_main() is the main thread.
 */
#ifndef COMMON_EDGE_PROGRAM_H
#define COMMON_EDGE_PROGRAM_H

#include "common/base/network.h"
#include "common/edge/edge.h"
#include "common/edge/edge_config.h"
#include "proto/permission.h"

struct program {
    const char *name;
    enum bus_user user;
    const struct setting *settings; /* its own, into *config */
    size_t n_settings;
    void *config;
    int (*on_request)(h2o_handler_t *handler, h2o_req_t *req); /* whatever the path and the host */
    size_t calls_max;                                          /* of a loop */
    unsigned bus_timeout_ms;                                   /* see edge.h */
    /* Once the settings are read: metrics, and where to listen. False: the process is to end. */
    bool (*open)(struct edge_options *options);
    size_t (*count_loops)(void);    /* NULL: one */
    struct edge *(*new_loop)(void); /* zeroed; never freed */
};

/* What loops need to know, constant after the start. */
struct program_facts {
    struct networks trusted;
    bool logs_all; /* a line for every answer, not for failures alone */
};
extern struct program_facts program_facts;

int program_main(int argc, char **argv, const struct program *program);

#endif
