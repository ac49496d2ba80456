/* Bounds that hold over replicas and against floods. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/token.h"
#include "services/gateway/allowance.h"
#include "tests/support/api.h"
#include "tests/support/client.h"
#include "tests/support/lenient.h"
#include "tests/support/replica.h"
#include "tests/support/sql.h"

TestSuite(limits, .init = stack_have_alone, .timeout = 400);

#define LOOKUPS "conversations_gateway_key_lookups_total"

/* How much of a test that is long when it is whole. */
static int amount_of(const char *name, int usual)
{
    const char *text = getenv(name);

    return text != NULL ? atoi(text) : usual;
}

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
    ADMITTED_MOST = LIMIT + LIMIT / 10, /* the bound that is published */
    WINDOW_S = 10,
    WINDOWS_MOST = 100,
    ENOUGH_US = 4000000, /* of a window, to spend the limit in and be refused */
    BACK_OFF_MS = 200,
};

struct crowd {
    char request[256];
    int64_t first_window, end_us;
    atomic_int admitted[WINDOWS_MOST], refused[WINDOWS_MOST];
    atomic_int failed; /* got no answer, or another one: the machine was too busy */
};

struct member {
    struct crowd *crowd;
    int port;
    pthread_t thread;
    struct client client;
};

/* Everybody comes back at the moment at which the next window begins, or soon. */
static void back_off(void)
{
    int64_t left_ms = WINDOW_S * 1000 - clock_us() / 1000 % (WINDOW_S * 1000);

    pause_ms(left_ms < BACK_OFF_MS ? left_ms : BACK_OFF_MS);
}

static void count(struct crowd *crowd, const struct client_answer *answer)
{
    /* The gateway says itself which window an answer was counted in. */
    long long window = answer->reset / WINDOW_S - 1 - crowd->first_window;

    if (window >= 0 && window < WINDOWS_MOST && answer->status == 200)
        atomic_fetch_add(&crowd->admitted[window], 1);
    else if (window >= 0 && window < WINDOWS_MOST && answer->status == 429)
        atomic_fetch_add(&crowd->refused[window], 1);
    else
        atomic_fetch_add(&crowd->failed, 1);
}

static void *come_again_and_again(void *closure)
{
    struct member *member = closure;
    struct crowd *crowd = member->crowd;
    struct client_answer answer;

    member->client.fd = -1;
    while (clock_us() < crowd->end_us) {
        if (member->client.fd < 0 && !client_open(&member->client, member->port)) {
            atomic_fetch_add(&crowd->failed, 1);
            pause_ms(BACK_OFF_MS);
            continue;
        }
        if (client_send(&member->client, crowd->request, strlen(crowd->request)) &&
            client_receive(&member->client, &answer)) {
            count(crowd, &answer);
            if (answer.status != 200)
                back_off();
            continue;
        }
        atomic_fetch_add(&crowd->failed, 1);
        client_close(&member->client);
    }
    client_close(&member->client);
    return NULL;
}

static void start_gateways(struct replica *gateways, int n, const char *const *settings)
{
    for (int i = 0; i < n; i++)
        replica_start(&gateways[i], settings);
}

static void stop_gateways(struct replica *gateways, int n)
{
    for (int i = 0; i < n; i++)
        replica_stop(&gateways[i]);
}

static void run_crowd(struct crowd *crowd, const struct replica *gateways)
{
    struct member *members = calloc(CLIENTS, sizeof(*members));

    for (int i = 0; i < CLIENTS; i++) {
        members[i].crowd = crowd;
        members[i].port = gateways[i % GATEWAYS].port;
        cr_assert_eq(pthread_create(&members[i].thread, NULL, come_again_and_again, &members[i]),
                     0);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(members[i].thread, NULL);
    free(members);
}

Test(limits, five_gateways_admit_a_tenth_more_than_one_keys_limit_at_most)
{
    int windows = amount_of("RATE_LIMIT_WINDOWS", 2), least = LIMIT, most = 0;
    static struct crowd crowd;
    struct replica gateways[GATEWAYS];
    struct org org;

    cr_assert_lt(windows, WINDOWS_MOST);
    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", format("%d", LIMIT), NULL));
    start_gateways(gateways, GATEWAYS, (const char *const[]){NULL});
    snprintf(crowd.request, sizeof(crowd.request),
             "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
             org.full_key);
    /* The first window need not be whole: the limit is one of the window, not of a time. */
    crowd.first_window = (clock_us() + ENOUGH_US) / 1000000 / WINDOW_S;
    crowd.end_us = (crowd.first_window + windows) * WINDOW_S * 1000000 - 100000;
    pause_ms(crowd.first_window * WINDOW_S * 1000 - clock_us() / 1000);
    run_crowd(&crowd, gateways);
    for (int i = 0; i < windows; i++) {
        fprintf(stderr, "window %d: %d admitted, %d refused\n", i + 1, crowd.admitted[i],
                crowd.refused[i]);
        most = crowd.admitted[i] > most ? crowd.admitted[i] : most;
        least = crowd.admitted[i] < least ? crowd.admitted[i] : least;
        cr_expect_gt(crowd.refused[i], 2 * LIMIT, "hardly more came than was let in");
    }
    fprintf(stderr, "%d windows, limit %d: %d to %d admitted, %d requests failed\n", windows, LIMIT,
            least, most, crowd.failed);
    /* One that failed may have been counted. */
    cr_assert_leq(crowd.failed, windows * LIMIT / 20, "too many failures to tell");
    cr_assert_leq(most, ADMITTED_MOST);
    cr_assert_geq(least + crowd.failed, LIMIT - LIMIT / 10, "the limit is what it says");
    stop_gateways(gateways, GATEWAYS);
}

/* -- failures of one address ------------------------------------------------------------------- */

/* A ping through the proxy that is trusted, as if from `client`. */
static struct answer *ping_from(const struct replica *gateway, const char *client, const char *key)
{
    const char *const headers[] = {format("X-Forwarded-For: %s", client), NULL};

    return http_send(&(struct http_request){
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
    struct answer *answer;
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
    answer = ping_from(&gateway, "198.51.100.1", unknown);
    expect_error(answer, 429, "rate_limit_exceeded", "*");
    cr_assert_geq(http_header_integer(answer, "Retry-After"), 1);
    cr_assert_leq(http_header_integer(answer, "Retry-After"), 60);
    cr_assert_eq(replica_metric(&gateway, LOOKUPS), 0, "refused before any look-up");
    /* The same address in another spelling. */
    expect_status(ping_from(&gateway, "::ffff:198.51.100.1", "x"), 429);
    /* Another address, and through a hop that the other one claims. */
    expect_status(ping_from(&gateway, "198.51.100.2", "x"), 401);
    expect_status(ping_from(&gateway, "198.51.100.1, 198.51.100.3", "x"), 401);
    /* A key that is known already still works from there; one that is not has to wait. */
    expect_status(ping_from(&gateway, "198.51.100.4", org.full_key), 200);
    expect_status(ping_from(&gateway, "198.51.100.1", org.full_key), 200);
    expect_status(ping_from(&gateway, "198.51.100.1", org.read_key), 429);
    replica_stop(&gateway);
}

/* -- made-up keys ------------------------------------------------------------------------------ */

enum { FLOODERS = 4, TOGETHER = 16, FLOOD_SECONDS = 3, FLOOD_PER_SECOND = 10000 };

struct flooder {
    int port, number;
    int64_t end_us;
    pthread_t thread;
    int sent, unknown, withheld, throttled;
    struct client client;
};

/* Each with a key of its own, from an address of its own. */
static size_t write_volley(const struct flooder *flooder, char *out, size_t room)
{
    char token[TOKEN_TEXT + 1];
    size_t n = 0;

    for (int i = 0; i < TOGETHER; i++) {
        int address = flooder->sent + i;

        token_make(i % 2 == 0 ? TOKEN_LIVE : TOKEN_READ, token);
        n += (size_t)snprintf(out + n, room - n,
                              "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                              "X-Forwarded-For: 10.%d.%d.%d\r\n\r\n",
                              token, flooder->number, address / 256 % 256, address % 256);
    }
    return n;
}

static void count_volley(struct flooder *flooder)
{
    struct client_answer answer;

    for (int i = 0; i < TOGETHER; i++) {
        cr_assert(client_receive(&flooder->client, &answer));
        flooder->sent++;
        flooder->unknown += answer.status == 401;
        flooder->withheld += answer.status == 503;
        flooder->throttled += answer.status == 429;
    }
}

static void *flood(void *closure)
{
    struct flooder *flooder = closure;
    int64_t due_us = clock_mono_us();
    char bytes[TOGETHER * 256];

    cr_assert(client_open(&flooder->client, flooder->port));
    while (clock_mono_us() < flooder->end_us) {
        pause_ms((due_us - clock_mono_us()) / 1000);
        cr_assert(
            client_send(&flooder->client, bytes, write_volley(flooder, bytes, sizeof(bytes))));
        count_volley(flooder);
        due_us += 1000000LL * TOGETHER * FLOODERS / FLOOD_PER_SECOND;
    }
    client_close(&flooder->client);
    return NULL;
}

/* How often the keys were looked at, in whatever way: while there are few, no index is used. */
static int64_t scans(void)
{
    /* What the service's connection has counted is told about once a second. */
    pause_ms(1500);
    return sql_integer("SELECT seq_scan + idx_scan FROM pg_stat_user_tables"
                       " WHERE schemaname = 'access' AND relname = 'api_keys'",
                       NULL);
}

static int by_duration(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* What a client with a good key sees meanwhile: the duration that 99 of 100 requests stay below. */
static int64_t use_a_good_key(const struct replica *gateway, const char *key, int64_t end_us)
{
    enum { MOST = 20000 };
    int64_t *took_us = calloc(MOST, sizeof(*took_us)), p99_us;
    struct client *client = calloc(1, sizeof(*client));
    const char *request = format("GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n"
                                 "Authorization: Bearer %s\r\n\r\n",
                                 key);
    struct client_answer answer;
    size_t n = 0;

    cr_assert(client_open(client, gateway->port));
    while (n < MOST && clock_mono_us() < end_us) {
        int64_t began_us = clock_mono_us();

        cr_assert(client_send(client, request, strlen(request)) && client_receive(client, &answer));
        cr_assert_eq(answer.status, 200, "a known key got %d", answer.status);
        took_us[n++] = clock_mono_us() - began_us;
        pause_ms(5);
    }
    client_close(client);
    qsort(took_us, n, sizeof(*took_us), by_duration);
    p99_us = took_us[n * 99 / 100];
    free(took_us);
    free(client);
    return p99_us;
}

Test(limits, made_up_keys_cost_the_database_next_to_nothing_and_known_keys_no_time)
{
    struct flooder *flooders = calloc(FLOODERS, sizeof(*flooders));
    int sent = 0, unknown = 0, withheld = 0, throttled = 0;
    int64_t before, asked, scanned, began_us, end_us, p99_us, took_s;
    struct replica gateway;
    struct org org;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    replica_start(&gateway, (const char *const[]){"TRUSTED_PROXIES=127.0.0.1/32", NULL});
    expect_status(ping_from(&gateway, "203.0.113.1", org.full_key), 200);
    before = scans();
    began_us = clock_mono_us();
    end_us = began_us + FLOOD_SECONDS * 1000000LL;
    for (int i = 0; i < FLOODERS; i++) {
        flooders[i].port = gateway.port;
        flooders[i].number = i;
        flooders[i].end_us = end_us;
        cr_assert_eq(pthread_create(&flooders[i].thread, NULL, flood, &flooders[i]), 0);
    }
    p99_us = use_a_good_key(&gateway, org.full_key, end_us);
    for (int i = 0; i < FLOODERS; i++) {
        pthread_join(flooders[i].thread, NULL);
        sent += flooders[i].sent;
        unknown += flooders[i].unknown;
        withheld += flooders[i].withheld;
        throttled += flooders[i].throttled;
    }
    asked = replica_metric(&gateway, LOOKUPS);
    took_s = (clock_mono_us() - began_us) / 1000000 + 1;
    scanned = scans() - before;
    fprintf(stderr,
            "%d made-up keys in %d s: %d refused, %d not looked up, %d throttled; %lld look-ups, "
            "%lld of them in the database's own count so far; a known key's p99 %lld us\n",
            sent, FLOOD_SECONDS, unknown, withheld, throttled, (long long)asked, (long long)scanned,
            (long long)p99_us);
    cr_assert_eq(unknown + withheld + throttled, sent);
    cr_assert_gt(sent, FLOOD_SECONDS * FLOOD_PER_SECOND / 10, "that was no flood");
    /* The known key is asked about every few seconds too, and its use is noted. */
    cr_assert_gt(scanned, ALLOWANCE_MOST / 2, "the right table is looked at");
    cr_assert_leq(scanned, asked + 50);
    cr_assert_leq(asked, ALLOWANCE_MOST + took_s * (ALLOWANCE_PER_SECOND + 1));
    cr_assert_lt(p99_us, lenient(500000));
    expect_status(ping_from(&gateway, "203.0.113.1", org.read_key), 200);
    replica_stop(&gateway);
    free(flooders);
}
