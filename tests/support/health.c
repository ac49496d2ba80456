#include "tests/support/health.h"

#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/api_client.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

static bool has_database(void)
{
    return PQping(stack_setting("DATABASE_URL")) == PQPING_OK;
}

static bool process_is_ready(const char *name, int port)
{
    pid_t pid = stack_pid(name);

    return pid > 1 && kill(pid, 0) == 0 &&
           http_send(&(struct client_request){.method = "GET",
                                              .base = format("http://127.0.0.1:%d", port),
                                              .path = "/readyz",
                                              .timeout_ms = 2000,
                                              .may_fail = true,
                                              .skip_checks = true})
                   ->status == 200;
}

/* How many links to the database it says that it has: those of its actors; the sealer of the audit
   log and the sender of webhooks have one more. */
static long links_of(const char *process, int port)
{
    const bool has_one_more =
        strncmp(process, "audit-", 6) == 0 || strncmp(process, "webhook-", 8) == 0;
    static const char name[] = "\nconversations_database_up ";
    const struct client_response *metrics =
        http_send(&(struct client_request){.method = "GET",
                                           .base = format("http://127.0.0.1:%d", port),
                                           .path = "/metrics",
                                           .timeout_ms = 2000,
                                           .may_fail = true,
                                           .skip_checks = true});
    const char *line = metrics->status == 200 ? strstr(metrics->body, name) : NULL;

    return line != NULL ? strtol(line + strlen(name), NULL, 10) + has_one_more : 0;
}

/* An actor that waits for its next command may notice only then that the database has closed its
   link, up to a second later, and would refuse that command: PostgreSQL must have all of these
   links. */
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
        ready = process_is_ready(replicas[i].name, replicas[i].admin_port);
        links += links_of(replicas[i].name, replicas[i].admin_port);
    }
    return ready && database_has(links);
}

bool health_await(int timeout_ms)
{
    return stack_wait(everything_is_ready, NULL, timeout_ms);
}
