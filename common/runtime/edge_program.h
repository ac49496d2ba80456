/*
 * edge_program - the main() of a program that serves HTTP and calls services over the bus.
 *
 *     int main(int argc, char **argv)
 *     {
 *         return edge_program_main(argc, argv, &gateway_program);
 *     }
 *
 * What     A program (program.h) of one or more event loops (common/http/edge.h) with the same
 *          settings and the same handler. After a signal it keeps serving for SHUTDOWN_DELAY_MS,
 *          then drains the loops and stops them.
 * Threads  As program.h; on_request runs on the loops' threads.
 */
#ifndef COMMON_RUNTIME_EDGE_PROGRAM_H
#define COMMON_RUNTIME_EDGE_PROGRAM_H

#include "common/http/edge.h"
#include "common/runtime/program.h"
#include "proto/subject.h"

struct edge_program {
    const char *name;
    enum bus_user user;
    const struct setting *settings; /* the program's own, into *config */
    size_t n_settings;
    void *config;
    int (*on_request)(h2o_handler_t *handler, h2o_req_t *req); /* for every path and host */
    size_t calls_max;                                          /* for each loop */
    unsigned bus_timeout_ms;                                   /* see edge.h */
    /* Called once the settings are read: opens metrics, and sets where to listen. False: the
       process must end. */
    bool (*open)(struct edge_options *options);
    size_t (*count_loops)(void);    /* NULL: one */
    struct edge *(*new_loop)(void); /* zeroed; never freed */
};

int edge_program_main(int argc, char **argv, const struct edge_program *self);

#endif
