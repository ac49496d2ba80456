/* What a key gets beyond its limit: as many refusals, then no answer before the window ends. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "services/gateway/postponed.h"
#include "services/gateway/quota.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(floods, .init = stack_have_alone);

enum {
    LIMIT = 20,
    ANSWERS = 100, /* twice the limit, at least a hundred */
    WINDOW_US = QUOTA_WINDOW_SECONDS * 1000000,
    CLIENTS_MAX = 160,
};

#define POSTPONED "conversations_gateway_requests_postponed_total"
#define DROPPED   "conversations_gateway_requests_dropped_total"

static void limited_org(struct org *org)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", format("%d", LIMIT), NULL));
}

/* A request with a key of its own. */
static const struct client_response *look(void)
{
    static struct org other;

    if (other.id[0] == '\0')
        org_new(&other);
    return api_get(other.read_key, "/ping");
}

/* The end of the window in which the gateway has counted it. */
static long end_of(const struct client_response *response)
{
    long end = http_header_integer(response, "X-RateLimit-Reset");

    cr_assert_eq(end % QUOTA_WINDOW_SECONDS, 0);
    return end;
}

static long window_end(void)
{
    return end_of(look());
}

static bool is_in_first_half(void *closure)
{
    const struct client_response *response = look();

    return end_of(response) - integer_at(response, "server_time") > QUOTA_WINDOW_SECONDS / 2;
}

/* Returns in the first half of a window, for what takes a second: its end. */
static long await_window(void)
{
    cr_assert(stack_wait(is_in_first_half, NULL, WINDOW_US / 1000));
    return window_end();
}

static int64_t entries(const struct org *org)
{
    return sql_integer("SELECT count(*) FROM audit.entries WHERE organization_id = $1::uuid",
                       org->id, NULL);
}

static struct client_response *ping(const struct replica *gateway, const char *key)
{
    return http_send(&(struct client_request){
        .method = "GET", .base = gateway->base, .path = "/ping", .key = key});
}

/* -- requests beyond all answers --------------------------------------------------------------- */

/* Requests at the same time, each over a connection of its own. */
struct flood {
    struct http_connection clients[CLIENTS_MAX];
    int n;
};

static void flood(struct flood *flood, const struct replica *gateway, const char *key, int n)
{
    const char *request =
        format("GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", key);

    for (int i = 0; i < n; i++) {
        struct http_connection *client = &flood->clients[flood->n++];

        cr_assert(http_connection_open(client, gateway->port));
        cr_assert(http_connection_send(client, request, strlen(request)));
    }
}

/* Uses up a key's answers, ten at a time; returns how many of them were of a status. */
static int use_up(const struct replica *gateway, const char *key, int status)
{
    enum { AT_ONCE = 10 };
    struct flood some;
    int n = 0;

    for (int i = 0; i < ANSWERS; i++) {
        struct connection_response response;

        if (i % AT_ONCE == 0) {
            some.n = 0;
            flood(&some, gateway, key, AT_ONCE);
        }
        cr_assert(http_connection_receive(&some.clients[i % AT_ONCE], &response, HTTP_TIMEOUT_MS));
        n += response.status == status;
        http_connection_close(&some.clients[i % AT_ONCE]);
    }
    return n;
}

struct counted {
    const struct replica *gateways;
    int n_gateways, sum;
    const struct org *org; /* NULL: its entries are not counted */
};

static long long sum_of(const struct counted *counted, const char *series)
{
    long long sum = 0;

    for (int i = 0; i < counted->n_gateways; i++)
        sum += replica_metric(&counted->gateways[i], series);
    return sum;
}

/* Each request was answered, waits, or was dropped. */
static bool have_settled(void *closure)
{
    const struct counted *counted = closure;

    return sum_of(counted, POSTPONED) + sum_of(counted, DROPPED) +
               (counted->org != NULL ? entries(counted->org) : 0) >=
           counted->sum;
}

/* Reads what became of each; returns how many were answered, all of them with 429. */
static int read_answers(struct flood *flood, int *n_ended)
{
    int n = 0;

    *n_ended = 0;
    for (int i = 0; i < flood->n; i++) {
        struct connection_response response;

        if (http_connection_receive(&flood->clients[i], &response, HTTP_TIMEOUT_MS)) {
            cr_assert_eq(response.status, 429);
            n++;
        } else {
            cr_assert(flood->clients[i].has_ended, "neither an answer nor an end");
            *n_ended += 1;
        }
        http_connection_close(&flood->clients[i]);
    }
    return n;
}

static bool has_line(const char *path, const char *text)
{
    FILE *file = fopen(path, "r");
    char line[4096];
    int n = 0;

    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        n += strstr(line, text) != NULL;
    fclose(file);
    cr_expect_leq(n, 2, "%d lines of the log in two windows", n);
    return n > 0;
}

/* Each of its requests has time until the window ends. */
static void start_patient_gateway(struct replica *gateway, const char *log)
{
    FILE *file = fopen(log, "w");

    cr_assert_not_null(file);
    replica_launch_into(gateway, fileno(file),
                        (const char *const[]){"COMMAND_TIMEOUT_MS=12000", NULL});
    replica_await(gateway);
    fclose(file);
}

Test(floods, of_refused_requests_leave_twice_the_limit_in_entries_and_wait_for_the_window)
{
    enum { TOO_MANY = 8 };
    const char *log = format("/tmp/floods-%d.log", (int)getpid());
    static struct flood waiting;
    struct org org, other;
    struct replica gateway;
    int n_ended;
    long end;

    limited_org(&org);
    org_new(&other);
    start_patient_gateway(&gateway, log);
    end = await_window();
    cr_assert_eq(use_up(&gateway, org.read_key, 429), ANSWERS - LIMIT);
    cr_assert_eq(entries(&org), ANSWERS);
    flood(&waiting, &gateway, org.read_key, POSTPONED_OF_KEY + TOO_MANY);
    cr_assert(stack_wait(have_settled,
                         &(struct counted){&gateway, 1, POSTPONED_OF_KEY + TOO_MANY, NULL}, 5000));
    cr_assert_eq(replica_metric(&gateway, POSTPONED), POSTPONED_OF_KEY);
    cr_assert_eq(replica_metric(&gateway, DROPPED), TOO_MANY);
    cr_assert_eq(entries(&org), ANSWERS, "what waits has no entry");

    /* The organization's other key, and other organizations, are served meanwhile. */
    cr_assert_eq(use_up(&gateway, org.full_key, 200), LIMIT);
    expect_status(ping(&gateway, other.full_key), 200);
    cr_assert_eq(replica_metric(&gateway, DROPPED), TOO_MANY);
    cr_assert_eq(window_end(), end, "all of this was in one window");

    cr_assert_eq(read_answers(&waiting, &n_ended), POSTPONED_OF_KEY);
    cr_assert_eq(n_ended, TOO_MANY);
    cr_assert_lt(clock_us() % WINDOW_US, WINDOW_US / 2, "answered when the window ended");
    cr_assert_eq(entries(&org), 2 * ANSWERS + POSTPONED_OF_KEY);
    cr_assert(has_line(log, "more than twice its limit"));
    replica_stop(&gateway);
    unlink(log);
}

/* No answer is sent later than a request's own time allows. */
Test(floods, end_when_a_requests_own_time_ends_before_the_window)
{
    static struct flood waiting;
    struct replica gateway;
    struct org org;
    int n_ended;
    long end;

    limited_org(&org);
    replica_start(&gateway, (const char *const[]){"COMMAND_TIMEOUT_MS=500", NULL});
    end = await_window();
    cr_assert_eq(use_up(&gateway, org.read_key, 429), ANSWERS - LIMIT);
    flood(&waiting, &gateway, org.read_key, 3);
    cr_assert_eq(read_answers(&waiting, &n_ended), 0);
    cr_assert_eq(n_ended, 3);
    cr_assert_eq(window_end(), end, "in the same window");
    cr_assert_eq(replica_metric(&gateway, DROPPED), 3);
    cr_assert_eq(entries(&org), ANSWERS);
    replica_stop(&gateway);
}

/* -- every status, every gateway --------------------------------------------------------------- */

Test(floods, of_any_status_have_the_same_bound)
{
    enum { MORE = 20 };
    static struct flood waiting;
    struct replica gateway;
    struct org org;
    int n_ended;
    long end;

    limited_org(&org);
    json_decref(convctl("policy", "set", "--org", org.id, "--ip", "192.0.2.1",
                        "--ip-allowlist-enabled", "true", NULL));
    replica_start(&gateway, (const char *const[]){"COMMAND_TIMEOUT_MS=500", NULL});
    end = await_window();
    cr_assert_eq(use_up(&gateway, org.read_key, 403), ANSWERS);
    flood(&waiting, &gateway, org.read_key, MORE);
    cr_assert_eq(read_answers(&waiting, &n_ended), 0);
    cr_assert_eq(n_ended, MORE);
    cr_assert_eq(entries(&org), ANSWERS);
    cr_assert_eq(window_end(), end, "in the same window");
    replica_stop(&gateway);
}

/* Each repetition is answered with the conversation, and counts as any request. */
Test(floods, of_repeated_creates_have_the_limit_of_any_request)
{
    enum { N = LIMIT + 10 };
    int served = 0, refused = 0;
    struct org org;
    long end;

    limited_org(&org);
    end = await_window();
    for (int i = 0; i < N; i++) {
        const struct client_response *response =
            api_create(org.full_key, "{\"external_id\":\"same\",\"from\":{\"external_id\":\"c\"}}");

        served += response->status == 200 || response->status == 201;
        refused += response->status == 429;
    }
    cr_assert_eq(window_end(), end, "in the same window");
    cr_assert_eq(served, LIMIT);
    cr_assert_eq(refused, N - LIMIT);
    cr_assert_eq(entries(&org), N);
}

Test(floods, have_one_bound_for_all_gateways)
{
    enum { GATEWAYS = 2, EACH = 80, ALL = GATEWAYS * EACH };
    struct replica gateways[GATEWAYS];
    static struct flood waiting;
    struct org org;
    long end;

    limited_org(&org);
    for (int i = 0; i < GATEWAYS; i++)
        replica_launch_of(&gateways[i], "gateway",
                          (const char *const[]){"COMMAND_TIMEOUT_MS=500", NULL});
    for (int i = 0; i < GATEWAYS; i++)
        replica_await(&gateways[i]);
    end = await_window();
    for (int i = 0; i < EACH / 10; i++)
        for (int g = 0; g < GATEWAYS; g++)
            flood(&waiting, &gateways[g], org.read_key, 10);
    cr_assert(stack_wait(have_settled, &(struct counted){gateways, GATEWAYS, ALL, &org}, 5000));
    cr_assert_leq(entries(&org), ANSWERS);
    cr_assert_geq(entries(&org), ANSWERS - ANSWERS / 10);
    cr_assert_eq(window_end(), end, "in the same window");
    for (int i = 0; i < waiting.n; i++)
        http_connection_close(&waiting.clients[i]);
    replicas_stop(gateways, GATEWAYS);
}
