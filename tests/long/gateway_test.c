/* Clients with a valid key are served while others send thousands of made-up keys a second, and again
   soon after the only gateway is killed. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/crypto.h"
#include "tests/support/api_client.h"
#include "tests/support/gateway_restart.h"
#include "tests/support/http_connection.h"
#include "tests/support/measure.h"
#include "tests/support/replica.h"

TestSuite(gateway, .init = stack_have_alone);

static void pause_us(int64_t us)
{
    if (us > 0)
        poll(NULL, 0, (int)(us / 1000));
}

enum { FLOODERS = 4, TOGETHER = 16, FLOOD_SECONDS = 3, FLOOD_PER_SECOND = 10000 };

struct flooder {
    int port, number;
    int64_t end_us;
    pthread_t thread;
    int sent, unknown, withheld, throttled;
    struct http_connection client;
};

/* Each request has its own key and its own client address. */
static size_t write_volley(const struct flooder *flooder, char *out, size_t capacity)
{
    char token[TOKEN_TEXT + 1];
    size_t n = 0;

    for (int i = 0; i < TOGETHER; i++) {
        int address = flooder->sent + i;

        token_make(i % 2 == 0 ? TOKEN_LIVE : TOKEN_READ, token);
        n += (size_t)snprintf(out + n, capacity - n,
                              "GET /api/v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                              "X-Forwarded-For: 10.%d.%d.%d\r\n\r\n",
                              token, flooder->number, address / 256 % 256, address % 256);
    }
    return n;
}

static void count_volley(struct flooder *flooder)
{
    struct connection_response response;

    for (int i = 0; i < TOGETHER; i++) {
        cr_assert(http_connection_receive(&flooder->client, &response, HTTP_TIMEOUT_MS));
        flooder->sent++;
        flooder->unknown += response.status == 401;
        flooder->withheld += response.status == 503;
        flooder->throttled += response.status == 429;
    }
}

static void *flood(void *closure)
{
    struct flooder *flooder = closure;
    int64_t due_us = clock_mono_us();
    char bytes[TOGETHER * 256];

    cr_assert(http_connection_open(&flooder->client, flooder->port));
    while (clock_mono_us() < flooder->end_us) {
        pause_us(due_us - clock_mono_us());
        cr_assert(http_connection_send(&flooder->client, bytes,
                                       write_volley(flooder, bytes, sizeof(bytes))));
        count_volley(flooder);
        due_us += 1000000LL * TOGETHER * FLOODERS / FLOOD_PER_SECOND;
    }
    http_connection_close(&flooder->client);
    return NULL;
}

/* The p99 of a client with a valid key during the flood. */
static int64_t use_a_good_key(const struct replica *gateway, const char *key, int64_t end_us)
{
    enum { MAX = 20000 };
    int64_t *took_us = calloc(MAX, sizeof(*took_us)), p99_us;
    struct http_connection client;
    const char *request = format("GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n"
                                 "Authorization: Bearer %s\r\n\r\n",
                                 key);
    struct connection_response response;
    size_t n = 0;

    cr_assert(http_connection_open(&client, gateway->port));
    while (n < MAX && clock_mono_us() < end_us) {
        int64_t began_us = clock_mono_us();

        cr_assert(http_connection_send(&client, request, strlen(request)) &&
                  http_connection_receive(&client, &response, HTTP_TIMEOUT_MS));
        cr_assert_eq(response.status, 200, "a known key got %d", response.status);
        took_us[n++] = clock_mono_us() - began_us;
        pause_us(5000);
    }
    http_connection_close(&client);
    p99_us = percentile(took_us, n, 99);
    free(took_us);
    return p99_us;
}

Test(gateway, serves_known_keys_in_time_during_a_flood_of_forged_ones)
{
    struct flooder *flooders = calloc(FLOODERS, sizeof(*flooders));
    int sent = 0, unknown = 0, withheld = 0, throttled = 0;
    int64_t began_us, end_us, p99_us;
    struct replica gateway;
    struct org org;

    org_new(&org);
    json_decref(convctl("org", "set", org.id, "--rate-limit", "100000", NULL));
    replica_start(&gateway, (const char *const[]){"TRUSTED_PROXIES=127.0.0.1/32", NULL});
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
    fprintf(stderr,
            "%d made-up keys in %d s: %d refused, %d not looked up, %d throttled; a known key's "
            "p99 %lld us\n",
            sent, FLOOD_SECONDS, unknown, withheld, throttled, (long long)p99_us);
    cr_assert_eq(unknown + withheld + throttled, sent);
    cr_assert_gt(sent, FLOOD_SECONDS * FLOOD_PER_SECOND / 10, "too few requests for a flood");
    cr_assert_lt(p99_us, limit_scaled(500000));
    replica_stop(&gateway);
    free(flooders);
}

enum { KILLS = 5, LONG_KILLS = 20, HEALED_MS = 150 };

Test(gateway, serves_within_150_ms_after_a_kill_and_refuses_no_client)
{
    const struct gateway_restart all = gateway_restart_measure(long_form_or(LONG_KILLS, KILLS));

    cr_expect_eq(all.n_refused, 0);
    cr_expect_eq(all.n_after_served, 0);
    cr_expect_lt(all.healed_us, limit_scaled(HEALED_MS * 1000));
}
