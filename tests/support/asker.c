#include "tests/support/asker.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "proto/headers.h"

#define ORGANIZATION "01890a5d-ac96-774b-bcce-b302099a8057"
#define API_KEY      "01890a5d-ac96-774b-bcce-b302099a8058"
#define ECHO         "test.echo"

enum { REPLIES_MOST = 2048, TEXT_MOST = 512, PATIENCE_US = ASKER_PATIENCE_MS * 1000 };

struct asker {
    struct bus *bus;
    struct bus_mailbox *echo;
    uint64_t sent;
    char request_id[UUID_TEXT + 1];

    /* Replies come on a thread of the bus. */
    pthread_mutex_t lock;
    int n_replies, n_notices, n_unrecorded;
    char replies[REPLIES_MOST][TEXT_MOST]; /* by token */
    char outcomes[REPLIES_MOST][64];
};

static void on_reply(void *closure, uint64_t token, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct asker *asker = closure;

    pthread_mutex_lock(&asker->lock);
    if (kind == BUS_NO_RESPONDERS) {
        snprintf(asker->replies[token], TEXT_MOST, "no responders");
    } else {
        struct str outcome = bus_message_header(message, HEADER_OUTCOME);
        struct str body = bus_message_body(message);

        asker->n_unrecorded += str_equal(bus_message_header(message, HEADER_RECORDED), STR("no"));
        snprintf(asker->outcomes[token], sizeof(asker->outcomes[token]), "%.*s", STR_ARG(outcome));
        snprintf(asker->replies[token], TEXT_MOST, "%.*s %.*s", STR_ARG(outcome), STR_ARG(body));
    }
    asker->n_replies++;
    pthread_mutex_unlock(&asker->lock);
    bus_message_free(message);
    bus_wake(asker->bus);
}

struct asker *asker_new(const char *bus_url)
{
    struct asker *asker = calloc(1, sizeof(*asker));

    must(asker != NULL && pthread_mutex_init(&asker->lock, NULL) == 0);
    asker->bus = bus_connect(&(struct bus_options){.url = bus_url, .name = "asker"});
    bus_open_inbox(asker->bus, on_reply, asker);
    asker->echo = bus_serve(asker->bus, ECHO, "echo");
    while (!bus_is_up(asker->bus))
        bus_wait(asker->bus, 10);
    return asker;
}

void asker_free(struct asker *asker)
{
    bus_free(asker->bus);
    pthread_mutex_destroy(&asker->lock);
    free(asker);
}

void asker_send(struct asker *asker, const char *subject, const char *body,
                enum asker_manner manner)
{
    char deadline[24];
    int64_t patience_ms = manner == ASKER_EXPIRED ? -1
                          : manner == ASKER_HASTY ? 3000
                                                  : ASKER_PATIENCE_MS;
    const struct uuid id = uuid_v7(clock_us());
    struct bus_header headers[] = {
        {HEADER_REQUEST_ID, asker->request_id},
        {HEADER_DEADLINE, deadline},
        {HEADER_ORGANIZATION, ORGANIZATION},
        {HEADER_SCOPE, manner == ASKER_READS ? "read" : "full"},
        {HEADER_API_KEY, API_KEY},
    };
    size_t n = sizeof(headers) / sizeof(headers[0]) - (manner == ASKER_ANONYMOUS);

    if (manner != ASKER_SAME_REQUEST)
        uuid_format(&id, asker->request_id);
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + patience_ms);
    must(asker->sent < REPLIES_MOST);
    cr_assert_eq(bus_request(asker->bus, subject, asker->sent++, headers, n, str_of(body)), ST_OK);
}

void asker_send_number(struct asker *asker, const char *subject, const char *body, int number)
{
    char text[64];
    const char *dash = strchr(body, '%');

    snprintf(text, sizeof(text), "%.*s%d", (int)(dash - body), body, number);
    asker_send(asker, subject, text, ASKER_NORMAL);
}

/* A number that a thread of the bus counts up. */
static int locked(struct asker *asker, const int *number)
{
    pthread_mutex_lock(&asker->lock);
    int value = *number;
    pthread_mutex_unlock(&asker->lock);
    return value;
}

static void await(struct asker *asker, const int *number, int least)
{
    int64_t until_us = clock_mono_us() + PATIENCE_US;

    while (locked(asker, number) < least) {
        cr_assert_lt(clock_mono_us(), until_us, "%d of %d", locked(asker, number), least);
        bus_wait(asker->bus, 100);
    }
}

void asker_await(struct asker *asker, int n)
{
    await(asker, &asker->n_replies, n);
}

void asker_forget(struct asker *asker)
{
    pthread_mutex_lock(&asker->lock);
    memset(asker->outcomes, 0, sizeof(asker->outcomes));
    asker->n_replies = 0;
    asker->sent = 0;
    pthread_mutex_unlock(&asker->lock);
}

int asker_count(struct asker *asker, const char *outcome)
{
    int n = 0;

    pthread_mutex_lock(&asker->lock);
    for (uint64_t i = 0; i < asker->sent; i++)
        n += strcmp(asker->outcomes[i], outcome) == 0;
    pthread_mutex_unlock(&asker->lock);
    return n;
}

int asker_count_unrecorded(struct asker *asker)
{
    return locked(asker, &asker->n_unrecorded);
}

const char *asker_ask_one(struct asker *asker, const char *subject, const char *body,
                          enum asker_manner manner)
{
    uint64_t token = asker->sent;
    int before = locked(asker, &asker->n_replies);

    asker_send(asker, subject, body, manner);
    await(asker, &asker->n_replies, before + 1);
    return asker->replies[token];
}

void asker_round_trip(struct asker *asker)
{
    struct bus_message *echo = NULL;

    cr_assert_eq(bus_publish(asker->bus, ECHO, NULL, NULL, 0, STR("")), ST_OK);
    while (echo == NULL) {
        bus_wait(asker->bus, 100);
        echo = bus_take(asker->echo);
    }
    bus_message_free(echo);
}

static void on_notice(void *closure, struct bus_message *message)
{
    struct asker *asker = closure;

    if (!str_equal(bus_message_header(message, HEADER_ORGANIZATION), STR(ORGANIZATION)))
        return;
    pthread_mutex_lock(&asker->lock);
    asker->n_notices++;
    pthread_mutex_unlock(&asker->lock);
    bus_wake(asker->bus);
}

void asker_listen(struct asker *asker, const char *subject)
{
    bus_listen(asker->bus, subject, on_notice, asker);
}

void asker_await_notice(struct asker *asker)
{
    await(asker, &asker->n_notices, 1);
}
