#include "tests/support/replica.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/api_client.h"
#include "tests/support/no_answer.h"
#include "tests/support/port.h"
#include "tests/support/sql.h"

enum {
    ENVIRONMENT_MAX = 256 * 1024,
    VARIABLES_MAX = 512,
    READY_WITHIN_MS = 30000,
    HEALTH_TIMEOUT_MS = 2000
};

static bool is_same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");

    return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

/* A later variable replaces one of the same name. */
static void put(char **environment, char *variable)
{
    size_t i = 0;

    while (environment[i] != NULL && !is_same_name(environment[i], variable))
        i++;
    cr_assert_lt(i, VARIABLES_MAX - 1);
    environment[i] = variable;
}

struct environment {
    char *at[VARIABLES_MAX];
    char text[ENVIRONMENT_MAX];
};

/* The environment of the stack's first process of a service, including its bus; free() it. */
static struct environment *inherit(const char *service)
{
    struct environment *environment = calloc(1, sizeof(*environment));
    char *text;
    FILE *file = fopen(format("/proc/%d/environ", (int)stack_pid(format("%s-0", service))), "re");
    size_t n;

    cr_assert_not_null(environment);
    cr_assert_not_null(file, "the stack's %s does not run", service);
    text = environment->text;
    n = fread(text, 1, ENVIRONMENT_MAX - 1, file);
    fclose(file);
    for (char *at = text; at < text + n; at += strlen(at) + 1)
        put(environment->at, at);
    return environment;
}

const char *replica_database_url(const char *service, const char *place)
{
    struct environment *environment = inherit(service);
    const char *url = NULL;

    for (size_t i = 0; environment->at[i] != NULL; i++)
        if (is_same_name(environment->at[i], "DATABASE_URL="))
            url = strchr(environment->at[i], '=') + 1;
    cr_assert(url != NULL && strchr(url, '@') != NULL, "%s has no DATABASE_URL", service);
    url = format("%.*s@%s", (int)strcspn(url, "@"), url, place);
    free(environment);
    return url;
}

static const char *log_of(const char *service)
{
    return format("%s/log/%s-of-tests.log", stack_setting("RUN_DIR"), service);
}

/* `fd`: its standard error; -1 = its log. */
static void run(const char *service, char *const *environment, int fd)
{
    const char *program = stack_program(service), *log = log_of(service);

    if (fd < 0)
        fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fd < 0 || dup2(fd, STDERR_FILENO) < 0)
        _exit(126);
    execve(program, (char *const[]){(char *)program, NULL}, environment);
    _exit(127);
}

/* $RUN_DIR/ports has a line for each process, and lines without a number in their names for
   external servers and for the HTTP ports. */
size_t replicas_of_stack(struct replica replicas[REPLICAS_OF_STACK_MAX])
{
    FILE *const ports = fopen(format("%s/ports", stack_setting("RUN_DIR")), "re");
    struct replica next = {0};
    size_t n = 0;

    cr_assert_not_null(ports);
    while (fscanf(ports, "%63s %d", next.name, &next.admin_port) == 2) {
        if (strchr(next.name, '-') == NULL)
            continue;
        cr_assert_lt(n, REPLICAS_OF_STACK_MAX);
        replicas[n++] = next;
    }
    fclose(ports);
    cr_assert_geq(n, 7, "one a program at least");
    return n;
}

struct replica replica_of_stack(const char *name)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);

    for (size_t i = 0; i < n; i++)
        if (strcmp(replicas[i].name, name) == 0)
            return replicas[i];
    cr_assert_fail("no port of %s", name);
    return (struct replica){0};
}

static struct client_response *ask(const struct replica *replica, const char *path, int timeout_ms)
{
    return http_send(
        &(struct client_request){.method = "GET",
                                 .base = format("http://127.0.0.1:%d", replica->admin_port),
                                 .path = path,
                                 .timeout_ms = timeout_ms,
                                 .may_fail = true,
                                 .skip_checks = true});
}

struct client_response *replica_ask(const struct replica *replica, const char *path)
{
    return ask(replica, path, 0);
}

static bool is_ready(void *closure)
{
    const struct replica *replica = closure;

    cr_assert_eq(waitpid(replica->pid, NULL, WNOHANG), 0, "the replica ended at once");
    return replica_ask(replica, "/readyz")->status == 200;
}

/* Starts it on its ports. */
static void launch(struct replica *replica, const char *service, const char *const *settings,
                   int log_fd)
{
    struct environment *environment = inherit(service);

    put(environment->at, format("GATEWAY_PORT=%d", replica->port));
    put(environment->at, format("DASHBOARD_PORT=%d", replica->port));
    put(environment->at, format("ADMIN_PORT=%d", replica->admin_port));
    put(environment->at, format("GATEWAY_TLS_PORT=0"));
    put(environment->at, format("SERVICE_INSTANCE=test-%d", replica->port));
    for (size_t i = 0; settings[i] != NULL; i++)
        put(environment->at, format("%s", settings[i]));
    snprintf(replica->base, sizeof(replica->base), "http://127.0.0.1:%d/api/v1", replica->port);
    replica->pid = fork();
    cr_assert_geq(replica->pid, 0);
    if (replica->pid == 0)
        run(service, environment->at, log_fd);
    if (log_fd < 0)
        no_answer_note(replica->port, replica->pid, log_of(service));
    free(environment);
}

static void choose_ports(struct replica *replica)
{
    replica->port = port_free();
    replica->admin_port = port_free();
}

void replica_launch_of(struct replica *replica, const char *service, const char *const *settings)
{
    choose_ports(replica);
    launch(replica, service, settings, -1);
}

void replica_launch_into(struct replica *replica, int log_fd, const char *const *settings)
{
    choose_ports(replica);
    launch(replica, "gateway", settings, log_fd);
}

void replica_kill(struct replica *replica)
{
    int status;

    kill(replica->pid, SIGKILL);
    while (waitpid(replica->pid, &status, 0) < 0)
        cr_assert_eq(errno, EINTR);
    replica->pid = 0;
}

void replica_launch_again(struct replica *replica, const char *const *settings)
{
    launch(replica, "gateway", settings, -1);
}

void replica_await(struct replica *replica)
{
    cr_assert(stack_wait(is_ready, replica, READY_WITHIN_MS), "the replica is not ready");
}

void replica_start_of(struct replica *replica, const char *service, const char *const *settings)
{
    replica_launch_of(replica, service, settings);
    replica_await(replica);
}

void replica_start(struct replica *replica, const char *const *settings)
{
    replica_start_of(replica, "gateway", settings);
}

int replica_await_end(struct replica *replica)
{
    int status;

    while (waitpid(replica->pid, &status, 0) < 0)
        cr_assert_eq(errno, EINTR);
    replica->pid = 0;
    cr_assert(WIFEXITED(status), "the replica failed with %x", status);
    return WEXITSTATUS(status);
}

void replica_stop(struct replica *replica)
{
    if (replica->pid == 0)
        return;
    kill(replica->pid, SIGTERM);
    cr_assert_eq(replica_await_end(replica), 0);
}

void replicas_stop(struct replica *replicas, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (replicas[i].pid != 0)
            kill(replicas[i].pid, SIGTERM);
    for (size_t i = 0; i < n; i++)
        if (replicas[i].pid != 0)
            cr_assert_eq(replica_await_end(&replicas[i]), 0);
}

const char *replica_metrics(const struct replica *replica)
{
    struct client_response *response = replica_ask(replica, "/metrics");

    cr_assert_eq(response->status, 200);
    return response->body;
}

long long replica_metric(const struct replica *replica, const char *series)
{
    const char *line = strstr(replica_metrics(replica), format("\n%s ", series));

    cr_assert_not_null(line, "no metric %s", series);
    return strtoll(line + strlen(series) + 2, NULL, 10);
}

/* -- whether the whole stack is ready ------------------------------------------------------------ */

static bool has_database(void)
{
    return PQping(stack_setting("DATABASE_URL")) == PQPING_OK;
}

static bool process_is_ready(const struct replica *replica)
{
    pid_t pid = stack_pid(replica->name);

    return pid > 1 && kill(pid, 0) == 0 &&
           ask(replica, "/readyz", HEALTH_TIMEOUT_MS)->status == 200;
}

/* The number of database connections it should have: one per actor, and one more for the sealer of
   the audit log or the sender of webhooks. */
static long links_of(const struct replica *replica)
{
    const bool has_one_more =
        strncmp(replica->name, "audit-", 6) == 0 || strncmp(replica->name, "webhook-", 8) == 0;
    static const char name[] = "\nconversations_database_up ";
    const struct client_response *metrics = ask(replica, "/metrics", HEALTH_TIMEOUT_MS);
    const char *line = metrics->status == 200 ? strstr(metrics->body, name) : NULL;

    return line != NULL ? strtol(line + strlen(name), NULL, 10) + has_one_more : 0;
}

/* An idle actor may notice only a second later that the database has closed its connection, and
   would refuse its next command: so PostgreSQL must have all of these connections. */
static bool database_has(long links)
{
    return sql_integer("SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'conv%'"
                       " AND application_name ~ '^[a-z]+(-slow)?-[0-9]+$'",
                       NULL) >= links;
}

static bool everything_is_ready(void *closure)
{
    struct replica replicas[REPLICAS_OF_STACK_MAX];
    const size_t n = replicas_of_stack(replicas);
    bool ready = has_database();
    long links = 0;

    for (size_t i = 0; ready && i < n; i++) {
        ready = process_is_ready(&replicas[i]);
        links += links_of(&replicas[i]);
    }
    return ready && database_has(links);
}

bool replicas_of_stack_await_ready(int timeout_ms)
{
    return stack_wait(everything_is_ready, NULL, timeout_ms);
}
