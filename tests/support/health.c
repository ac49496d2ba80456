#include "tests/support/health.h"

#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/api.h"

bool health_has_database(void)
{
    return PQping(stack_setting("DATABASE_URL")) == PQPING_OK;
}

static bool process_is_ready(const char *name, int port)
{
    pid_t pid = stack_pid(name);

    return pid > 1 && kill(pid, 0) == 0 &&
           http_send(&(struct http_request){.method = "GET",
                                            .base = format("http://127.0.0.1:%d", port),
                                            .path = "/readyz",
                                            .timeout_ms = 2000,
                                            .may_fail = true,
                                            .skip_checks = true})
                   ->status == 200;
}

/* $RUN_DIR/ports has a line for each: processes are numbered, the servers' own ports are not. */
static bool everything_is_ready(void *closure)
{
    FILE *ports = fopen(format("%s/ports", stack_setting("RUN_DIR")), "re");
    bool ready = ports != NULL && health_has_database();
    char name[64];
    int port;

    while (ready && fscanf(ports, "%63s %d", name, &port) == 2) {
        if (strchr(name, '-') != NULL)
            ready = process_is_ready(name, port);
    }
    if (ports != NULL)
        fclose(ports);
    return ready;
}

bool health_await(int timeout_ms)
{
    return stack_wait(everything_is_ready, NULL, timeout_ms);
}
