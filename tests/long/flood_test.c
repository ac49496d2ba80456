/* Keys that are made up by the thousand each second: who has a good one does not wait for that. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/crypto/token.h"
#include "tests/support/api.h"
#include "tests/support/client.h"
#include "tests/support/lenient.h"
#include "tests/support/replica.h"

TestSuite(flood, .init = stack_have_alone, .timeout = 120);

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
        pause_us(due_us - clock_mono_us());
        cr_assert(
            client_send(&flooder->client, bytes, write_volley(flooder, bytes, sizeof(bytes))));
        count_volley(flooder);
        due_us += 1000000LL * TOGETHER * FLOODERS / FLOOD_PER_SECOND;
    }
    client_close(&flooder->client);
    return NULL;
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
        pause_us(5000);
    }
    client_close(client);
    qsort(took_us, n, sizeof(*took_us), by_duration);
    p99_us = took_us[n * 99 / 100];
    free(took_us);
    free(client);
    return p99_us;
}

Test(flood, of_made_up_keys_costs_known_keys_no_time)
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
    cr_assert_gt(sent, FLOOD_SECONDS * FLOOD_PER_SECOND / 10, "that was no flood");
    cr_assert_lt(p99_us, lenient(500000));
    replica_stop(&gateway);
    free(flooders);
}
