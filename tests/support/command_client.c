#include "tests/support/command_client.h"

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
#include "proto/subject.h"

#define ORGANIZATION "01890a5d-ac96-774b-bcce-b302099a8057"
#define API_KEY      "01890a5d-ac96-774b-bcce-b302099a8058"
#define ECHO         "test.echo"
#define STOCK_INBOX  "test.inbox"

enum { REPLIES_MAX = 2048, TEXT_MAX = 512, TIMEOUT_US = COMMAND_CLIENT_TIMEOUT_MS * 1000 };

struct command_client {
    struct bus *bus;
    struct bus_mailbox *echo, *stock_inbox;
    uint64_t sent, sent_plain;
    char request_id[UUID_TEXT + 1];

    /* Replies arrive on a thread of the bus. */
    pthread_mutex_t lock;
    int n_replies, n_notices, n_unrecorded;
    char replies[REPLIES_MAX][TEXT_MAX]; /* by token */
    char outcomes[REPLIES_MAX][64];
};

static void on_reply(void *closure, uint64_t token, enum bus_reply_kind kind,
                     struct bus_message *message)
{
    struct command_client *client = closure;

    pthread_mutex_lock(&client->lock);
    if (kind == BUS_NO_RESPONDERS) {
        snprintf(client->replies[token], TEXT_MAX, "no responders");
    } else {
        struct str outcome = bus_message_header(message, HEADER_OUTCOME);
        struct str body = bus_message_body(message);

        client->n_unrecorded += str_equal(bus_message_header(message, HEADER_RECORDED), STR("no"));
        snprintf(client->outcomes[token], sizeof(client->outcomes[token]), "%.*s",
                 STR_ARG(outcome));
        snprintf(client->replies[token], TEXT_MAX, "%.*s %.*s", STR_ARG(outcome), STR_ARG(body));
    }
    client->n_replies++;
    pthread_mutex_unlock(&client->lock);
    bus_message_free(message);
    bus_wake(client->bus);
}

/* However late a reply is. */
static bool is_awaited(void *closure, uint64_t token)
{
    return true;
}

struct command_client *command_client_new(const char *bus_url)
{
    struct command_client *client = calloc(1, sizeof(*client));

    must(client != NULL && pthread_mutex_init(&client->lock, NULL) == 0);
    client->bus = bus_connect(&(struct bus_options){.url = bus_url, .name = "command_client"});
    bus_open_inbox(client->bus, on_reply, is_awaited, client);
    client->echo = bus_serve(client->bus, ECHO, "echo");
    client->stock_inbox = bus_serve(client->bus, STOCK_INBOX, NULL);
    while (!bus_is_up(client->bus))
        bus_wait(client->bus, 10);
    return client;
}

void command_client_free(struct command_client *client)
{
    bus_free(client->bus);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

void command_client_send(struct command_client *client, const char *subject, const char *body,
                         enum command_client_mode mode)
{
    char deadline[24];
    int64_t timeout_ms = mode == COMMAND_EXPIRED          ? -1
                         : mode == COMMAND_AHEAD          ? 90 * 1000 + 3000
                         : mode == COMMAND_SHORT_DEADLINE ? 3000
                                                          : COMMAND_CLIENT_TIMEOUT_MS;
    const struct uuid id = uuid_v7(clock_us());
    struct bus_header headers[] = {
        {HEADER_REQUEST_ID, client->request_id},
        {HEADER_DEADLINE, deadline},
        {HEADER_ORGANIZATION,
         mode == COMMAND_OTHER_ORGANIZATION ? OTHER_ORGANIZATION : ORGANIZATION},
        {HEADER_SCOPE, mode == COMMAND_READ_ONLY ? "read" : "full"},
        {HEADER_API_KEY, API_KEY},
    };
    size_t n = ARRAY_SIZE(headers) - (mode == COMMAND_WITHOUT_KEY);

    if (mode != COMMAND_SAME_REQUEST)
        uuid_format(&id, client->request_id);
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + timeout_ms);
    must(client->sent < REPLIES_MAX);
    if (mode == COMMAND_PLAIN) {
        client->sent_plain = client->sent++;
        cr_assert_eq(bus_publish(client->bus, subject, STOCK_INBOX, headers, n, str_of(body)),
                     ST_OK);
        return;
    }
    cr_assert_eq(bus_request(client->bus, subject, client->sent++, headers, n, str_of(body)),
                 ST_OK);
}

void command_client_send_number(struct command_client *client, const char *subject,
                                const char *body, int number)
{
    char text[64];
    const char *dash = strchr(body, '%');

    snprintf(text, sizeof(text), "%.*s%d", (int)(dash - body), body, number);
    command_client_send(client, subject, text, COMMAND_NORMAL);
}

/* Reads a number that a thread of the bus increments. */
static int locked(struct command_client *client, const int *number)
{
    pthread_mutex_lock(&client->lock);
    int value = *number;
    pthread_mutex_unlock(&client->lock);
    return value;
}

static void await(struct command_client *client, const int *number, int min)
{
    int64_t until_us = clock_mono_us() + TIMEOUT_US;
    struct bus_message *plain;

    while (locked(client, number) < min) {
        cr_assert_lt(clock_mono_us(), until_us, "%d of %d", locked(client, number), min);
        bus_wait(client->bus, 100);
        if ((plain = bus_take(client->stock_inbox)) != NULL)
            on_reply(client, client->sent_plain, BUS_REPLY, plain);
    }
}

void command_client_await(struct command_client *client, int n)
{
    await(client, &client->n_replies, n);
}

void command_client_reset(struct command_client *client)
{
    pthread_mutex_lock(&client->lock);
    memset(client->outcomes, 0, sizeof(client->outcomes));
    client->n_replies = 0;
    client->sent = 0;
    pthread_mutex_unlock(&client->lock);
}

int command_client_count(struct command_client *client, const char *outcome)
{
    int n = 0;

    pthread_mutex_lock(&client->lock);
    for (uint64_t i = 0; i < client->sent; i++)
        n += strcmp(client->outcomes[i], outcome) == 0;
    pthread_mutex_unlock(&client->lock);
    return n;
}

int command_client_count_unrecorded(struct command_client *client)
{
    return locked(client, &client->n_unrecorded);
}

const char *command_client_call(struct command_client *client, const char *subject,
                                const char *body, enum command_client_mode mode)
{
    uint64_t token = client->sent;
    int before = locked(client, &client->n_replies);

    command_client_send(client, subject, body, mode);
    await(client, &client->n_replies, before + 1);
    return client->replies[token];
}

void command_client_flush(struct command_client *client)
{
    struct bus_message *echo = NULL;

    cr_assert_eq(bus_publish(client->bus, ECHO, NULL, NULL, 0, STR("")), ST_OK);
    while (echo == NULL) {
        bus_wait(client->bus, 100);
        echo = bus_take(client->echo);
    }
    bus_message_free(echo);
}

static void on_notice(void *closure, struct bus_message *message)
{
    struct command_client *client = closure;

    if (!str_equal(bus_message_header(message, HEADER_ORGANIZATION), STR(ORGANIZATION)))
        return;
    pthread_mutex_lock(&client->lock);
    client->n_notices++;
    pthread_mutex_unlock(&client->lock);
    bus_wake(client->bus);
}

void command_client_subscribe(struct command_client *client, const char *subject)
{
    bus_listen(client->bus, subject, on_notice, client);
}

void command_client_await_notice(struct command_client *client)
{
    await(client, &client->n_notices, 1);
}
