#include "tests/support/no_answer.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/support/never_free.h"
#include "tests/support/stack.h"

enum {
    REPLICAS_MAX = 4,
    TAIL_BYTES = 4000,
    SHOWN_MS = 200, /* until its end, or the last line of its log, shows */
};

static struct {
    pid_t pid;
    const char *log;
} noted[UINT16_MAX + 1]; /* by port */

void no_answer_note(int port, pid_t pid, const char *log)
{
    noted[port].pid = pid;
    noted[port].log = log;
}

/* Leaves it to be waited for. */
static void describe(pid_t pid, char state[48])
{
    siginfo_t end = {.si_pid = 0};
    const bool is_child = waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) == 0;

    if (end.si_pid != 0)
        snprintf(state, 48, "has ended, %s %d", end.si_code == CLD_EXITED ? "status" : "signal",
                 end.si_status);
    else
        snprintf(state, 48, is_child || kill(pid, 0) == 0 ? "lives" : "does not live");
}

/* Whole lines, each after a line feed. */
static const char *end_of(const char *path, char text[TAIL_BYTES + 2])
{
    FILE *const file = fopen(path, "re");
    bool is_cut;

    if (file == NULL)
        return "";
    is_cut = fseek(file, -TAIL_BYTES, SEEK_END) == 0;
    if (!is_cut)
        rewind(file);
    text[0] = '\n';
    text[1 + fread(text + 1, 1, TAIL_BYTES, file)] = '\0';
    fclose(file);
    return is_cut ? text + 1 + strcspn(text + 1, "\n") : text;
}

static const char *account(const char *name, pid_t pid, const char *log)
{
    char state[48], text[TAIL_BYTES + 2], *whole;

    stack_let_run(SHOWN_MS);
    describe(pid, state);
    cr_assert(asprintf(&whole, "\n%s, process %d, %s; %s ends with%s", name, (int)pid, state, log,
                       end_of(log, text)) > 0);
    return never_free(whole);
}

/* A stack's replicas of the service listen on consecutive ports. */
static const char *account_of_stack(const char *service, int first, int port)
{
    char name[32], log[4096];

    snprintf(name, sizeof(name), "%s-%d", service, port - first);
    if (port < first || port >= first + REPLICAS_MAX || stack_pid(name) == 0)
        return NULL;
    snprintf(log, sizeof(log), "%s/log/%s.log", stack_setting("RUN_DIR"), name);
    return account(name, stack_pid(name), log);
}

const char *no_answer_from(const char *url)
{
    const char *const colon = strrchr(url, ':');
    const int port = (uint16_t)atoi(colon + 1);
    const char *of_stack;

    if (noted[port].pid != 0)
        return account("it", noted[port].pid, noted[port].log);
    if (getenv("RUN_DIR") == NULL)
        return "";
    of_stack = account_of_stack("gateway", stack_gateway_port(), port);
    if (of_stack == NULL)
        of_stack = account_of_stack("dashboard", stack_dashboard_port(), port);
    return of_stack != NULL ? of_stack : "";
}
