/*
 * dashboard - the program: its settings and its loop.
 *
 * Threads  Settings are read before threads start; constant afterwards.
 */
#ifndef DASHBOARD_DASHBOARD_H
#define DASHBOARD_DASHBOARD_H

#include "common/edge/program.h"

struct dashboard_settings {
    const char *address;
    int64_t port;
    const char *base_url; /* of the API, as the pages show it */
};

extern struct dashboard_settings dashboard_settings;
extern const struct program dashboard_program;

#endif
