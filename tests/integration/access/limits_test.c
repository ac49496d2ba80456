/* Limits that hold across replicas and against floods. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "common/http/throttle.h"
#include "services/gateway/key_lookup.h"
#include "tests/support/api_client.h"
#include "tests/support/http_connection.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(limits, .init = stack_have_alone);

#define LOOKUPS "conversations_gateway_key_lookups_total"

static void pause_ms(int64_t ms)
{
    if (ms > 0)
        poll(NULL, 0, (int)ms);
}

/* -- one key, many gateways -------------------------------------------------------------------- */

enum {
    GATEWAYS = 5,
    CLIENTS = 64,
    LIMIT = 100,
    ADMITTED_MAX = LIMIT + LIMIT / 10, /* the documented bound */
    WINDOW_S = 10,
    WINDOWS_MAX = 20,
    ENOUGH_S = 4, /* long enough to use up a window's limit and be refused, on a busy machine too */
    BACK_OFF_MS = 200,
    TRIES = 5,
};

struct limit_load {
    char request[256];
    int64_t first_window, end_us;
    atomic_int admitted[WINDOWS_MAX], refused[WINDOWS_MAX];
    atomic_int failed; /* no answer, or an unexpected one: the machine was too busy */
};

struct member {
    struct limit_load *load;
    int port;
    pthread_t thread;
    struct http_connection client;
};

/* Until the next window begins: in one, a key gets twice its limit in answers and no more. */
static void back_off(void)
{
    pause_ms(WINDOW_S * 1000 - clock_us() / 1000 % (WINDOW_S * 1000));
}

static void count(struct limit_load *load, const struct connection_response *response)
{
    char reset[24] = "0";
    long long window;

    /* The header shows in which window the gateway counted the request. */
    (void)http_connection_header(response, "X-RateLimit-Reset", reset, sizeof(reset));
    window = strtoll(reset, NULL, 10) / WINDOW_S - 1 - load->first_window;
    if (window >= 0 && window < WINDOWS_MAX && response->status == 200)
        atomic_fetch_add(&load->admitted[window], 1);
    else if (window >= 0 && window < WINDOWS_MAX && response->status == 429)
        atomic_fetch_add(&load->refused[window], 1);
    else
        atomic_fetch_add(&load->failed, 1);
}

static void *keep_requesting(void *closure)
{
    struct member *member = closure;
    struct limit_load *load = member->load;
    struct connection_response response;

    member->client.fd = -1;
    while (clock_us() < load->end_us) {
        if (member->client.fd < 0 && !http_connection_open(&member->client, member->port)) {
            atomic_fetch_add(&load->failed, 1);
            pause_ms(BACK_OFF_MS);
            continue;
        }
        member->client.is_private = true;
        if (http_connection_send(&member->client, load->request, strlen(load->request)) &&
            http_connection_receive(&member->client, &response, HTTP_TIMEOUT_MS)) {
            count(load, &response);
            if (response.status != 200)
                back_off();
            continue;
        }
        atomic_fetch_add(&load->failed, 1);
        http_connection_close(&member->client);
    }
    http_connection_close(&member->client);
    return NULL;
}

static void start_gateways(struct replica *gateways)
{
    for (int i = 0; i < GATEWAYS; i++)
        replica_launch_of(&gateways[i], "gateway", (const char *const[]){NULL});
    for (int i = 0; i < GATEWAYS; i++)
        replica_await(&gateways[i]);
}

static void run_load(struct limit_load *load, const struct replica *gateways)
{
    struct member *members = calloc(CLIENTS, sizeof(*members));

    for (int i = 0; i < CLIENTS; i++) {
        members[i].load = load;
        members[i].port = gateways[i % GATEWAYS].port;
        cr_assert_eq(pthread_create(&members[i].thread, NULL, keep_requesting, &members[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(members[i].thread, NULL);
    free(members);
}

/* Quota leases that gateways failed to get: without one, a gateway counts alone and may admit the
   whole limit. */
static long long leases_failed(const struct replica *gateways)
{
    long long n = 0;

    for (int i = 0; i < GATEWAYS; i++)
        n += replica_metric(&gateways[i], "conversations_gateway_quota_leases_failed_total");
    return n;
}

/* Sends from the last seconds of the first window to the first seconds of the last: each window has
   the whole limit, even if only part of it is used. */
static void run_through(struct limit_load *load, const struct replica *gateways, const char *key,
                        int windows)
{
    const int64_t next = (clock_us() / 1000000 + ENOUGH_S) / WINDOW_S + 1;

    *load = (struct limit_load){.first_window = next - 1};
    snprintf(load->request, sizeof(load->request),
             "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", key);
    load->end_us = ((next + windows - 2) * WINDOW_S + ENOUGH_S) * 1000000;
    pause_ms((next * WINDOW_S - ENOUGH_S) * 1000 - clock_us() / 1000);
    run_load(load, gateways);
}

Test(limits, five_gateways_admit_a_tenth_more_than_one_keys_limit_at_most)
{
    const int windows = long_form_or(WINDOWS_MAX, 2);
    int min = LIMIT, max = 0, tries = 0;
    static struct limit_load load;
    struct replica gateways[GATEWAYS];
    long long failed;
    struct org org;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", format("%d", LIMIT), NULL));
    start_gateways(gateways);
    do {
        failed = leases_failed(gateways);
        run_through(&load, gateways, org.full_key, windows);
    } while (leases_failed(gateways) > failed && ++tries < TRIES);
    cr_assert_lt(tries, TRIES, "access was unreachable in every try");
    for (int i = 0; i < windows; i++) {
        fprintf(stderr, "window %d: %d admitted, %d refused\n", i + 1, load.admitted[i],
                load.refused[i]);
        max = load.admitted[i] > max ? load.admitted[i] : max;
        min = load.admitted[i] < min ? load.admitted[i] : min;
        cr_expect_gt(load.refused[i], 0, "too few requests to exceed the limit");
    }
    fprintf(stderr, "%d windows, limit %d: %d to %d admitted, %d requests failed\n", windows, LIMIT,
            min, max, load.failed);
    /* The gateway may have counted a failed request. */
    cr_assert_leq(load.failed, windows * LIMIT / 20, "too many failures for a result");
    cr_assert_leq(max, ADMITTED_MAX);
    cr_assert_geq(min + load.failed, LIMIT - LIMIT / 10,
                  "fewer requests were admitted than the limit allows");
    replicas_stop(gateways, GATEWAYS);
}

/* -- failures of one address ------------------------------------------------------------------- */

/* A ping as if from `client`, through a trusted proxy. */
static struct client_response *ping_from(const struct replica *gateway, const char *client,
                                         const char *key)
{
    const char *const headers[] = {format("X-Forwarded-For: %s", client), NULL};

    return http_send(&(struct client_request){
        .method = "GET", .base = gateway->base, .path = "/ping", .key = key, .headers = headers});
}

static void await_a_new_minute_if_this_one_ends(int left_s)
{
    int64_t left_us = 60000000 - clock_mono_us() % 60000000;

    if (left_us < left_s * 1000000LL)
        pause_ms(left_us / 1000 + 5);
}

Test(limits, failures_are_counted_for_each_address_and_cost_others_nothing)
{
    enum { FAILURES = 20 };
    struct replica gateway;
    struct client_response *response;
    char unknown[TOKEN_TEXT + 1];
    struct org org;

    org_new(&org);
    replica_start(&gateway, (const char *const[]){"AUTH_FAILURE_LIMIT=20",
                                                  "TRUSTED_PROXIES=127.0.0.1/32", NULL});
    await_a_new_minute_if_this_one_ends(15);
    for (int i = 0; i < FAILURES; i++)
        expect_error(ping_from(&gateway, "198.51.100.1", i % 2 == 0 ? "x" : NULL), 401,
                     "unauthorized", "*");
    token_make(TOKEN_LIVE, unknown);
    response = ping_from(&gateway, "198.51.100.1", unknown);
    expect_error(response, 429, "rate_limit_exceeded", "*");
    cr_assert_geq(http_header_integer(response, "Retry-After"), 1);
    cr_assert_leq(http_header_integer(response, "Retry-After"), 60);
    cr_assert_eq(replica_metric(&gateway, LOOKUPS), 0, "refused before any lookup");
    /* The same address in another spelling. */
    expect_status(ping_from(&gateway, "::ffff:198.51.100.1", "x"), 429);
    /* Another address, and one that claims to forward for the throttled address. */
    expect_status(ping_from(&gateway, "198.51.100.2", "x"), 401);
    expect_status(ping_from(&gateway, "198.51.100.1, 198.51.100.3", "x"), 401);
    /* From the throttled address, a cached key still works; one that is not cached has to wait. */
    expect_status(ping_from(&gateway, "198.51.100.4", org.full_key), 200);
    expect_status(ping_from(&gateway, "198.51.100.1", org.full_key), 200);
    expect_status(ping_from(&gateway, "198.51.100.1", org.read_key), 429);
    replica_stop(&gateway);
}

Test(limits, failures_are_counted_for_ipv6_networks)
{
    enum { FAILURES = 20, OF_NETWORK = FAILURES * THROTTLE_WIDER };
    struct replica gateway;

    replica_start(&gateway, (const char *const[]){"AUTH_FAILURE_LIMIT=20",
                                                  "TRUSTED_PROXIES=127.0.0.1/32", NULL});
    await_a_new_minute_if_this_one_ends(30);
    for (int i = 0; i < FAILURES; i++)
        expect_status(ping_from(&gateway, format("2001:db8:1:1:%x::1", i), "x"), 401);
    expect_status(ping_from(&gateway, "2001:db8:1:1:ffff::1", "x"), 429);
    expect_status(ping_from(&gateway, "2001:db8:1:2::1", "x"), 401);
    for (int i = FAILURES + 1; i < OF_NETWORK; i++)
        expect_status(ping_from(&gateway, format("2001:db8:1:%x::1", i), "x"), 401);
    expect_status(ping_from(&gateway, "2001:db8:1:ffff::1", "x"), 429);
    expect_status(ping_from(&gateway, "2001:db8:2::1", "x"), 401);
    replica_stop(&gateway);
}

/* -- made-up keys ------------------------------------------------------------------------------ */

enum { TOGETHER = 16, VOLLEYS_MAX = 5000 };

/* Made-up keys, each from its own network, and one known key. */
static size_t write_volley(char *out, size_t capacity, int number, const char *known)
{
    static const char request[] = "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                                  "%s\r\nX-Forwarded-For: 10.%d.%d.1\r\n\r\n";
    char token[TOKEN_TEXT + 1];
    size_t n = 0;

    for (int i = 0; i < TOGETHER; i++) {
        const int address = number * TOGETHER + i;

        token_make(i % 2 == 0 ? TOKEN_LIVE : TOKEN_READ, token);
        n += (size_t)snprintf(out + n, capacity - n, request, token, address / 256 % 256,
                              address % 256);
    }
    return n + (size_t)snprintf(out + n, capacity - n, request, known, 0, 0);
}

/* Sends made-up keys until so many were not looked up; returns how many it sent. */
static int send_made_up_keys(const struct replica *gateway, const char *known, int withheld)
{
    struct http_connection client;
    struct connection_response response;
    char bytes[(TOGETHER + 1) * 256];
    int sent = 0;

    cr_assert(http_connection_open(&client, gateway->port));
    client.is_private = true;
    for (int volley = 0; withheld > 0; volley++) {
        cr_assert_lt(volley, VOLLEYS_MAX);
        cr_assert(http_connection_send(&client, bytes,
                                       write_volley(bytes, sizeof(bytes), volley, known)));
        for (int i = 0; i < TOGETHER; i++, sent++) {
            cr_assert(http_connection_receive(&client, &response, HTTP_TIMEOUT_MS));
            cr_assert(response.status == 401 || response.status == 503, "%d", response.status);
            withheld -= response.status == 503;
        }
        cr_assert(http_connection_receive(&client, &response, HTTP_TIMEOUT_MS));
        cr_assert_eq(response.status, 200, "a known key got %d", response.status);
    }
    http_connection_close(&client);
    return sent;
}

/* Scans of the table of keys, of both kinds: while it is small, PostgreSQL uses no index. */
static int64_t scans(void)
{
    return sql_integer("SELECT seq_scan + idx_scan FROM pg_stat_user_tables"
                       " WHERE schemaname = 'access' AND relname = 'api_keys'",
                       NULL);
}

struct scanned {
    const struct org *org;
    int64_t before, min;
};

/* A database connection reports its statistics when it is used, at most once a second: convctl has
   access use it. */
static bool are_told(void *closure)
{
    const struct scanned *scanned = closure;

    json_decref(convctl("org", "get", scanned->org->id, NULL));
    return scans() - scanned->before > scanned->min;
}

Test(limits, made_up_keys_cost_the_database_next_to_nothing_and_known_keys_are_served)
{
    struct replica gateway;
    struct scanned scanned;
    int64_t began_us, asked, took_s;
    struct org org;
    int sent;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "1000000", NULL));
    replica_start(&gateway, (const char *const[]){"TRUSTED_PROXIES=127.0.0.1/32", NULL});
    expect_status(ping_from(&gateway, "203.0.113.1", org.full_key), 200);
    scanned = (struct scanned){&org, scans(), LOOKUP_BUDGET_MAX / 2};
    began_us = clock_mono_us();
    sent = send_made_up_keys(&gateway, org.full_key, LOOKUP_BUDGET_MAX);
    took_s = (clock_mono_us() - began_us) / 1000000 + 1;
    asked = replica_metric(&gateway, LOOKUPS);
    cr_assert(stack_wait(are_told, &scanned, 30000),
              "the database counts no lookups in this table");
    fprintf(stderr, "%d made-up keys in %lld s: %lld lookups, %lld by the database's count\n", sent,
            (long long)took_s, (long long)asked, (long long)(scans() - scanned.before));
    cr_assert_leq(asked, LOOKUP_BUDGET_MAX + took_s * (LOOKUP_BUDGET_PER_SECOND + 1));
    /* Scans by earlier tests may be included. */
    cr_assert_leq(scans() - scanned.before, asked + asked / 2);
    /* A key that is not cached, from a familiar network. */
    expect_status(ping_from(&gateway, "203.0.113.1", org.read_key), 200);
    replica_stop(&gateway);
}

/* -- a key that was refused ----------------------------------------------------------------------
 */

/* Nothing else changes keys, so no notice makes the gateway look the key up again. */
Test(limits, a_refused_key_is_remembered_as_such)
{
    enum { PINGS = 200, LOOKUPS_MAX = PINGS / 10 /* one every five seconds */ };
    struct replica gateway;
    char refused[TOKEN_TEXT + 1];

    token_make(TOKEN_READ, refused);
    replica_start(&gateway, (const char *const[]){NULL});
    for (int i = 0; i < PINGS; i++)
        expect_status(http_send(&(struct client_request){
                          .method = "GET", .base = gateway.base, .path = "/ping", .key = refused}),
                      401);
    cr_assert_geq(replica_metric(&gateway, LOOKUPS), 1);
    cr_assert_leq(replica_metric(&gateway, LOOKUPS), LOOKUPS_MAX);
    replica_stop(&gateway);
}
