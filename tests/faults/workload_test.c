/* The workload's own counts, against gateways that give the same response to everything. */
#include "tests/faults/workload.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/faults/ask.h"
#include "tests/support/port.h"

enum {
    PER_SECOND = 200,
    RUN_MS = 1500,
    BACKLOG = 1024,
    EARLY_US = 1000 /* poll() has a resolution of milliseconds */
};

static const struct org orgs[WORKLOAD_ORGS];
static atomic_int n_answers, n_expected, n_timed;

/* Sockets on two consecutive ports. */
static void listen_on_two(int listening[WORKLOAD_GATEWAYS])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uint16_t port;

    do {
        listening[0] = port_bound(&port);
        listening[1] = socket(AF_INET, SOCK_STREAM, 0);
        address.sin_port = htons((uint16_t)(port + 1));
    } while (bind(listening[1], (struct sockaddr *)&address, sizeof(address)) != 0);
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++)
        cr_assert_eq(listen(listening[i], BACKLOG), 0);
    cr_assert_eq(setenv("BASE_URL", format("http://127.0.0.1:%d", port), 1), 0);
}

static _Noreturn void answer_all(int listening, const char *status_line)
{
    char request[8192], answer[128];
    const int n =
        snprintf(answer, sizeof(answer),
                 "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}", status_line);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        const int fd = accept(listening, NULL, NULL);

        if (read(fd, request, sizeof(request)) > 0)
            (void)!write(fd, answer, (size_t)n);
        close(fd);
    }
}

static void note_answer(const struct response *response)
{
    const struct workload_answer *answer = workload_answer();

    n_answers++;
    n_expected += answer != NULL && answer->is_expected;
    n_timed +=
        answer != NULL && answer->due_us > 0 && answer->due_us <= response->begin_us + EARLY_US;
}

static struct workload_counts run_against(const char *status_line)
{
    struct workload_counts counts;
    int listening[WORKLOAD_GATEWAYS];
    pid_t gateways[WORKLOAD_GATEWAYS];

    listen_on_two(listening);
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++) {
        gateways[i] = fork();
        cr_assert_geq(gateways[i], 0);
        if (gateways[i] == 0)
            answer_all(listening[i], status_line);
    }
    ask_observe(note_answer);
    workload_start(orgs, 1, PER_SECOND, WORKLOAD_WORKERS);
    stack_let_run(RUN_MS);
    counts = workload_stop();
    for (int i = 0; i < WORKLOAD_GATEWAYS; i++)
        kill(gateways[i], SIGKILL);
    return counts;
}

Test(workload, counts_no_refusal_as_good)
{
    const struct workload_counts counts = run_against("503 Service Unavailable");

    cr_expect_gt(counts.requests, 0);
    cr_expect_gt(n_answers, 0);
    cr_expect_eq(counts.good, 0);
    cr_expect_eq(counts.failed_answers, n_answers);
    cr_expect_eq(n_expected, 0);
    cr_expect_eq(n_timed, n_answers);
}

/* The requests include some that must be refused. */
Test(workload, counts_missing_refusals_as_failures)
{
    const struct workload_counts counts = run_against("200 OK");

    cr_expect_gt(counts.good, counts.requests / 2);
    cr_expect_gt(counts.failed_answers, 0);
    cr_expect_eq(counts.failed_answers, n_answers - n_expected);
}
