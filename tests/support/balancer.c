#include "tests/support/balancer.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/port.h"

enum { READY_WITHIN_MS = 20000 };

static char *origin; /* http://127.0.0.1:PORT */

static void write_config(const char *path, int port, const struct balanced *gateways, int n)
{
    FILE *file = fopen(path, "we");

    cr_assert_not_null(file);
    fprintf(file,
            "defaults\n"
            "  mode http\n"
            "  timeout connect 2s\n  timeout client 30s\n  timeout server 30s\n  timeout check 5s\n"
            "  http-reuse always\n"
            "  retries 3\n  option redispatch 1\n  retry-on conn-failure\n"
            "  option httpchk GET /readyz\n"
            "  default-server check inter 20ms fall 1 rise 1\n"
            "listen gateways\n"
            "  bind 127.0.0.1:%d\n"
            "  stats enable\n  stats uri /balancer\n",
            port);
    for (int i = 0; i < n; i++)
        fprintf(file, "  server gateway-%d 127.0.0.1:%d port %d\n", i, gateways[i].port,
                gateways[i].admin_port);
    cr_assert_eq(fclose(file), 0);
}

static bool responses(void *closure)
{
    return http_send(&(struct client_request){.method = "GET",
                                              .base = closure,
                                              .path = "/ping",
                                              .may_fail = true,
                                              .skip_checks = true})
               ->status == 401;
}

const char *balancer_start(const struct balanced *gateways, int n)
{
    const int port = port_free();
    char *base;
    char *config = format("%s/haproxy.cfg", stack_setting("RUN_DIR"));
    pid_t pid;

    origin = format("http://127.0.0.1:%d", port);
    base = format("%s/api/v1", origin);
    write_config(config, port, gateways, n);
    pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("haproxy", "haproxy", "-db", "-q", "-f", config, (char *)NULL);
        _exit(127);
    }
    cr_assert(stack_wait(responses, base, READY_WITHIN_MS), "haproxy does not answer");
    return base;
}

/* The status page has DOWN for each gateway that is left out, with the failed check. */
static bool leaves_nobody_out(void *closure)
{
    const struct client_response *page = http_send(&(struct client_request){.method = "GET",
                                                                            .base = origin,
                                                                            .path = "/balancer;csv",
                                                                            .may_fail = true,
                                                                            .skip_checks = true});

    return page->status == 200 && strstr(page->body, ",UP,") != NULL &&
           strstr(page->body, ",DOWN") == NULL;
}

void balancer_await_all(void)
{
    cr_assert(stack_wait(leaves_nobody_out, NULL, READY_WITHIN_MS), "a gateway gets no requests");
}
