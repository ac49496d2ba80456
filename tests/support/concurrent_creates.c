#include "tests/support/concurrent_creates.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tests/support/http_connection.h"
#include "tests/support/replica.h"

/* -- replicas -------------------------------------------------------------------------------- */

enum { REPLICAS_MAX = 8 };

struct replicas {
    struct replica at[REPLICAS_MAX]; /* the first one is the stack's */
    size_t n;
};

struct replicas *replicas_open(int n)
{
    struct replicas *const replicas = calloc(1, sizeof(*replicas));

    cr_assert(replicas != NULL && n >= 1 && n <= REPLICAS_MAX);
    replicas->n = (size_t)n;
    replicas->at[0] = replica_of_stack("conversation-0");
    for (int i = 1; i < n; i++)
        replica_start_of(&replicas->at[i], "conversation", (const char *const[]){NULL});
    return replicas;
}

long long replicas_count(const struct replicas *replicas, const char *series)
{
    long long sum = 0;

    for (size_t i = 0; i < replicas->n; i++)
        sum += replica_metric(&replicas->at[i], series);
    return sum;
}

void replicas_close(struct replicas *replicas)
{
    replicas_stop(replicas->at + 1, replicas->n - 1);
    free(replicas);
}

int deadlocks_logged(void)
{
    FILE *const file = fopen(format("%s/log/postgres.log", stack_setting("RUN_DIR")), "re");
    char *line = NULL;
    size_t capacity = 0;
    int n = 0;

    cr_assert_not_null(file);
    while (getline(&line, &capacity, file) > 0)
        n += strstr(line, "deadlock detected") != NULL;
    free(line);
    fclose(file);
    return n;
}

/* -- pairs ----------------------------------------------------------------------------------- */

enum { PAIRS = 16, BODY_MAX = 512 };

/* Shared by the two threads of a pair. */
struct pair {
    pthread_barrier_t both;
    bool is_over; /* decided by one of them: they stop together */
};

struct sender {
    struct pairs *pairs;
    struct pair *pair;
    int number; /* 0 and 1 are the first pair */
    pthread_t thread;
    struct http_connection client;
};

struct pairs {
    struct org org;
    bool share_contact;
    int64_t pause_us; /* between two requests of one thread */
    int64_t since_us; /* makes external ids unique */
    atomic_bool is_over;
    atomic_int sent, made, others, example;
    struct pair at[PAIRS];
    struct sender senders[2 * PAIRS];
};

static void send_create(struct sender *sender, int round)
{
    struct pairs *const pairs = sender->pairs;
    char body[BODY_MAX], request[2 * BODY_MAX];
    struct connection_response response = {0};

    snprintf(body, sizeof(body),
             "{\"external_id\":\"p%lld.%d.%d\",\"from\":{\"external_id\":\"c%lld.%d.%d\"}}",
             (long long)pairs->since_us, sender->number, round, (long long)pairs->since_us,
             pairs->share_contact ? sender->number / 2 : sender->number + 2 * PAIRS, round);
    snprintf(request, sizeof(request),
             "POST /api/v1/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             pairs->org.full_key, strlen(body), body);
    if (http_connection_send(&sender->client, request, strlen(request)))
        (void)http_connection_receive(&sender->client, &response, HTTP_TIMEOUT_MS);
    if (response.status == 201) {
        atomic_fetch_add(&pairs->made, 1);
    } else {
        atomic_fetch_add(&pairs->others, 1);
        atomic_store(&pairs->example, response.status);
    }
    atomic_fetch_add(&pairs->sent, 1);
}

static void *keep_sending(void *closure)
{
    struct sender *const sender = closure;
    struct pairs *const pairs = sender->pairs;
    struct pair *const pair = sender->pair;
    int64_t due_us = clock_mono_us();
    int round = 0;

    do {
        const int64_t left_us = due_us - clock_mono_us();

        if (left_us > 0)
            poll(NULL, 0, (int)(left_us / 1000));
        due_us += pairs->pause_us;
        pthread_barrier_wait(&pair->both);
        send_create(sender, round++);
        if (sender->number % 2 == 0)
            pair->is_over = atomic_load(&pairs->is_over);
        pthread_barrier_wait(&pair->both);
    } while (!pair->is_over);
    return NULL;
}

struct pairs *pairs_begin(const struct org *org, bool share_contact, int per_second)
{
    struct pairs *const pairs = calloc(1, sizeof(*pairs));

    cr_assert_not_null(pairs);
    pairs->org = *org;
    pairs->share_contact = share_contact;
    pairs->pause_us = per_second > 0 ? 1000000LL * PAIRS / per_second : 0;
    pairs->since_us = clock_us();
    for (int i = 0; i < 2 * PAIRS; i++) {
        struct sender *const sender = &pairs->senders[i];

        if (i % 2 == 0)
            pthread_barrier_init(&pairs->at[i / 2].both, NULL, 2);
        sender->pairs = pairs;
        sender->pair = &pairs->at[i / 2];
        sender->number = i;
        cr_assert(http_connection_open(&sender->client, stack_gateway_port()));
        sender->client.is_private = true; /* there are many */
    }
    for (int i = 0; i < 2 * PAIRS; i++)
        cr_assert_eq(
            pthread_create(&pairs->senders[i].thread, NULL, keep_sending, &pairs->senders[i]), 0);
    return pairs;
}

struct awaited {
    struct pairs *pairs;
    int n;
};

static bool has_sent(void *closure)
{
    const struct awaited *const awaited = closure;

    return atomic_load(&awaited->pairs->sent) >= 2 * awaited->n;
}

void pairs_await(struct pairs *pairs, int n)
{
    struct awaited awaited = {pairs, n};

    cr_assert(stack_wait(has_sent, &awaited, 120 * 1000), "%d creates", atomic_load(&pairs->sent));
}

struct pairs_seen pairs_end(struct pairs *pairs)
{
    struct pairs_seen seen;

    atomic_store(&pairs->is_over, true);
    for (int i = 0; i < 2 * PAIRS; i++) {
        pthread_join(pairs->senders[i].thread, NULL);
        http_connection_close(&pairs->senders[i].client);
    }
    seen = (struct pairs_seen){.made = atomic_load(&pairs->made),
                               .others = atomic_load(&pairs->others),
                               .example = atomic_load(&pairs->example)};
    free(pairs);
    return seen;
}
