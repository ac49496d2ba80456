/* What one organization, a held lock, a hung process or a silent database costs the others. */
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/load.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"
#include "tests/support/sealed_log.h"
#include "tests/support/sql.h"

TestSuite(isolation, .init = stack_have_alone);

#define UNKNOWN "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n\r\n"

enum { PINGERS = 4, RESPONSES_MAX = 200000, WAITS_MS = 30000 };

/* -- pingers: one request after the other until they are stopped ------------------------------- */

struct request_stream {
    struct client_request request;
    atomic_bool is_over;
    atomic_int n; /* answers */
    int statuses[RESPONSES_MAX];
    int64_t took_us[RESPONSES_MAX];
    pthread_t threads[PINGERS];
};

static void *ask(void *closure)
{
    struct request_stream *stream = closure;

    while (!stream->is_over) {
        struct client_response *response = http_send(&stream->request);
        int i = atomic_fetch_add(&stream->n, 1);

        cr_assert_lt(i, RESPONSES_MAX);
        stream->statuses[i] = response->status;
        stream->took_us[i] = response->took_us;
        usleep(5000);
    }
    return NULL;
}

static struct request_stream *start_stream(const struct client_request *request)
{
    struct request_stream *stream = calloc(1, sizeof(*stream));

    cr_assert_not_null(stream);
    stream->request = *request;
    for (int i = 0; i < PINGERS; i++)
        cr_assert_eq(pthread_create(&stream->threads[i], NULL, ask, stream), 0);
    return stream;
}

static void stop_stream(struct request_stream *stream)
{
    stream->is_over = true;
    for (int i = 0; i < PINGERS; i++)
        pthread_join(stream->threads[i], NULL);
}

static int count_status(const struct request_stream *stream, int status)
{
    int n = 0;

    for (int i = 0; i < stream->n; i++)
        n += stream->statuses[i] == status;
    return n;
}

static long percentile_ms(struct request_stream *stream, int percent)
{
    return (long)percentile(stream->took_us, (size_t)stream->n, percent) / 1000;
}

/* -- a row that is kept locked -------------------------------------------------------------- */

static PGconn *lock_row(const char *table, const char *id)
{
    PGconn *const client = PQconnectdb(stack_setting("DATABASE_URL"));

    PQclear(PQexec(client, "BEGIN"));
    PQclear(PQexec(client,
                   format("SELECT FROM conversation.%s WHERE id = '%s' FOR UPDATE", table, id)));
    cr_assert_eq(PQtransactionStatus(client), PQTRANS_INTRANS, "%s", PQerrorMessage(client));
    return client;
}

#define LOCK_REFUSALS "conversations_lock_refusals_total"

Test(isolation, a_locked_row_delays_only_commands_that_need_it)
{
    struct request_stream *blocked, *others;
    struct org ours, theirs;
    struct replica service = replica_of_stack("conversation-0");
    long long refusals_before;
    const char *locked;
    PGconn *client;

    org_new(&ours);
    org_new(&theirs);
    json_decref(convctl("org", "set", theirs.id, "--rate-limit", "100000", NULL));
    locked = new_conversation(&ours, "locked", "c");
    client = lock_row("conversations", locked);
    refusals_before = replica_metric(&service, LOCK_REFUSALS);
    blocked = start_stream(&(struct client_request){
        .method = "PUT",
        .path = format("/conversations/%s", locked),
        .key = ours.full_key,
        .body = "{\"custom_attributes\":{\"a\":1}}",
    });
    others = start_stream(&(struct client_request){
        .method = "GET",
        .path = format("/conversations/%s", new_conversation(&theirs, "free", "c")),
        .key = theirs.full_key,
    });
    stack_let_run(long_form_or(60, 3) * 1000);
    stop_stream(blocked);
    stop_stream(others);
    fprintf(stderr, "locked: %d answers, p50 %ld ms, p100 %ld ms; others: %d, p50 %ld, p99 %ld\n",
            blocked->n, percentile_ms(blocked, 50), percentile_ms(blocked, 100), others->n,
            percentile_ms(others, 50), percentile_ms(others, 99));
    cr_expect_eq(count_status(others, 200), others->n);
    cr_expect_eq(count_status(blocked, 503), blocked->n);
    cr_expect_gt(blocked->n, PINGERS);
    cr_expect_geq(replica_metric(&service, LOCK_REFUSALS) - refusals_before, blocked->n);
    cr_expect_lt(percentile_ms(blocked, 100), limit_scaled(1000));
    cr_expect_leq(percentile_ms(others, 99), limit_scaled(400));
    free(blocked);
    free(others);
    PQfinish(client);
    expect_status(update_conversation(&ours, locked, "{\"custom_attributes\":{\"a\":2}}"), 200);
}

/* -- a replica that hangs in the middle of a transaction -------------------------------------- */

#define OPEN_TRANSACTIONS                                                                          \
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'conversation-0'"              \
    " AND usename = 'conv_conversation' AND wait_event = 'ClientRead' AND xact_start IS NOT NULL"

static bool none_is_open(void *closure)
{
    return sql_integer(OPEN_TRANSACTIONS, NULL) == 0;
}

/* Halts the process until it happens to be in a transaction; under load that is soon. */
static int64_t stop_in_a_transaction(void)
{
    for (int tries = 0; tries < 1000; tries++) {
        const int64_t stopped_us = clock_mono_us();

        stack_halt("conversation-0");
        /* Statements that it has sent may still finish. */
        stack_let_run(20);
        if (sql_integer(OPEN_TRANSACTIONS, NULL) > 0)
            return stopped_us;
        stack_signal("conversation-0", SIGCONT);
        usleep(1000 * (useconds_t)(1 + rand() % 20));
    }
    cr_assert_fail("it was never stopped in a transaction");
    return 0;
}

/* Its service has no other replica: the other services end its session in the database. */
Test(isolation, a_replica_that_hangs_holds_its_locks_for_ten_seconds_at_most)
{
    struct replica gateway;
    struct org org, other;
    struct load *load;

    replica_start(&gateway, (const char *const[]){"COMMAND_TIMEOUT_MS=1000", NULL});
    org_new(&org);
    org_new(&other);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    load = load_start_at(gateway.base, &org, 150);
    for (int round = 0; round < long_form_or(20, 1); round++) {
        const int64_t stopped_us = stop_in_a_transaction();
        int64_t free_us;

        expect_status(api_get(other.full_key, "/ping"), 200);
        cr_assert(stack_wait(none_is_open, NULL, WAITS_MS), "its transaction stays open");
        free_us = clock_mono_us();
        sealed_log_await_seal(&other);
        fprintf(stderr, "its locks were free after %ld ms, the audit log sealed after %ld\n",
                (long)(free_us - stopped_us) / 1000, (long)(clock_mono_us() - stopped_us) / 1000);
        cr_expect_lt(free_us - stopped_us, limit_scaled(10 * 1000000));
        stack_signal("conversation-0", SIGCONT);
        cr_assert(load_await_served(load, 50, WAITS_MS));
    }
    load_stop(load);
    load_check_consistency(load);
    replica_stop(&gateway);
}

/* -- a connection that is shut ------------------------------------------------------------------ */

/* The full gateway closes an idle connection for a new one, just as the idle one sends a request
   that takes long. */
Test(isolation, a_new_connection_does_not_wait_for_a_request_on_a_closed_one)
{
    enum { MAX = 4, IDLE_MS = 1000, BEFORE_MS = 5000 };
    struct http_connection clients[MAX], late;
    struct connection_response response;
    struct replica gateway;
    const char *request;
    struct org org;

    org_new(&org);
    request = format("GET /api/v1/conversations/%s HTTP/1.1\r\nHost: x\r\n"
                     "Authorization: Bearer %s\r\n\r\n",
                     new_conversation(&org, "asked", "c"), org.full_key);
    replica_start(&gateway, (const char *const[]){"MAX_CONNECTIONS=4", "COMMAND_TIMEOUT_MS=12000",
                                                  "TRUSTED_PROXIES=127.0.0.1/32", NULL});
    for (int i = 0; i < MAX; i++) {
        cr_assert(http_connection_open(&clients[i], gateway.port));
        cr_assert(http_connection_send(&clients[i], request, strlen(request)));
        cr_assert(http_connection_receive(&clients[i], &response, WAITS_MS));
        cr_assert_eq(response.status, 200);
    }
    stack_halt("conversation-0");
    stack_let_run(2 * IDLE_MS); /* until each is idle for long enough to be shut */
    cr_assert_eq(kill(gateway.pid, SIGSTOP), 0);
    stack_let_run(200); /* until all its threads have stopped */
    cr_assert(http_connection_open(&late, gateway.port));
    cr_assert(http_connection_send(&late, UNKNOWN, strlen(UNKNOWN)));
    cr_assert(http_connection_send(&clients[0], request, strlen(request)));
    cr_assert_eq(kill(gateway.pid, SIGCONT), 0);
    cr_expect(http_connection_receive(&late, &response, BEFORE_MS),
              "admitted before the other request got its response");
    cr_expect_eq(response.status, 401);
    /* Two if the gateway shut the first before it saw its request, otherwise one. */
    cr_expect_leq(replica_metric(&gateway, "conversations_gateway_connections_shed_total"), 2);
    stack_signal("conversation-0", SIGCONT);
    for (int i = 0; i < MAX; i++)
        http_connection_close(&clients[i]);
    http_connection_close(&late);
    replica_stop(&gateway);
}

/* -- a database that does not answer ---------------------------------------------------------- */

static void signal_processes_of(pid_t parent, int signal)
{
    FILE *const list = popen(format("pgrep -P %d", (int)parent), "r");
    int pid;

    cr_assert_not_null(list);
    (void)kill(parent, signal);
    while (fscanf(list, "%d", &pid) == 1)
        (void)kill((pid_t)pid, signal);
    pclose(list);
}

enum { TIMEOUT_MS = 1000, LATE_MS = 1000 };

/* Nearly always 503; 500 if the service gets too little processor time to send that in time. */
static void expect_in_time(const struct client_response *response)
{
    fprintf(stderr, "%s: %d after %ld ms\n", response->about, response->status,
            (long)response->took_us / 1000);
    cr_expect(response->status == 503 || response->status == 500, "%s: %d", response->about,
              response->status);
    cr_expect_leq(response->took_us, (TIMEOUT_MS + limit_scaled(LATE_MS)) * 1000, "%s took %ld ms",
                  response->about, (long)response->took_us / 1000);
}

static bool answers_ping(void *closure)
{
    return http_send(closure)->status == 200;
}

Test(isolation, a_silent_database_makes_no_client_wait_beyond_the_timeout)
{
    const pid_t postgres = stack_pid("postgres");
    enum { KINDS = 6 };
    struct client_response *responses[KINDS];
    struct replica gateway;
    struct org met, unmet;

    replica_start(&gateway,
                  (const char *const[]){format("COMMAND_TIMEOUT_MS=%d", TIMEOUT_MS), NULL});
    org_new(&met);
    org_new(&unmet);
    const char *id = new_conversation(&met, "there", "c");
    const struct client_request requests[KINDS] = {
        {.method = "POST",
         .base = gateway.base,
         .path = "/conversations",
         .key = unmet.full_key,
         .body = "{\"external_id\":\"x\",\"from\":{\"external_id\":\"c\"}}"},
        {.method = "POST",
         .base = gateway.base,
         .path = "/conversations",
         .key = met.full_key,
         .body = "{\"external_id\":\"y\",\"from\":{\"external_id\":\"c\"}}"},
        {.method = "GET",
         .base = gateway.base,
         .path = format("/conversations/%s", id),
         .key = met.full_key},
        {.method = "POST",
         .base = gateway.base,
         .path = "/conversations/search",
         .key = met.full_key,
         .body =
             "{\"query\":{\"field\":\"contact.external_id\",\"operator\":\"=\",\"value\":\"c\"}}"},
        {.method = "GET", .base = gateway.base, .path = "/ping", .key = met.full_key},
        {.method = "GET", .base = gateway.base, .path = "/audit", .key = met.read_key},
    };
    struct client_request ping = requests[4];

    cr_assert_eq(http_send(&ping)->status, 200); /* the gateway knows its key from now on */
    signal_processes_of(postgres, SIGSTOP);
    for (int round = 0; round < 3; round++) {
        api_send_together(requests, KINDS, responses);
        for (int i = 0; i < KINDS; i++)
            expect_in_time(responses[i]);
    }
    signal_processes_of(postgres, SIGCONT);
    cr_assert(stack_wait(answers_ping, &ping, WAITS_MS));
    replica_stop(&gateway);
}
