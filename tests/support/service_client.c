#include "tests/support/service_client.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "common/crypto/crypto.h"
#include "proto/headers.h"
#include "tests/support/never_free.h"
#include "tests/support/stack.h"

enum {
    TIMEOUT_MS = 30000,
    BODY_MAX = 65536,
};

struct service_client {
    struct bus *bus;
};

struct service_client *service_client_open(void)
{
    struct service_client *client = calloc(1, sizeof(*client));

    cr_assert_not_null(client);
    client->bus = bus_connect(
        &(struct bus_options){.url = stack_setting("NATS_URL"), .name = "service_client"});
    return client;
}

void service_client_close(struct service_client *client)
{
    bus_free(client->bus);
    free(client);
}

static void read_reply(struct bus_message *message, struct service_reply *reply)
{
    struct str body = bus_message_body(message);
    struct str wait = bus_message_header(message, HEADER_RETRY_AFTER);

    cr_assert(outcome_of(bus_message_header(message, HEADER_OUTCOME), &reply->outcome));
    reply->body = never_free(json_loadb(body.p, body.n, JSON_DECODE_ANY, NULL));
    reply->retry_after = wait.p != NULL ? strtol(wait.p, NULL, 10) : 0;
    bus_message_free(message);
}

static struct service_reply ask(struct service_client *client, const char *subject,
                                const char *organization, const char *body, va_list args)
{
    const struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], deadline[24], text[BODY_MAX];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},
        {HEADER_DEADLINE, deadline},
        {HEADER_ORGANIZATION, organization},
    };
    struct bus_message *message = NULL;
    struct service_reply reply = {.took_us = clock_mono_us()};
    enum status st;

    uuid_format(&id, id_text);
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + TIMEOUT_MS);
    cr_assert_lt(vsnprintf(text, sizeof(text), body, args), BODY_MAX);
    do
        st = bus_call(client->bus, subject, headers, organization != NULL ? 3 : 2, str_of(text),
                      TIMEOUT_MS, &message);
    while (st == ST_UNAVAILABLE && clock_mono_us() - reply.took_us < ABSENCE_US);
    cr_assert_eq(st, ST_OK, "%s: %s", subject, status_name(st));
    reply.took_us = clock_mono_us() - reply.took_us;
    read_reply(message, &reply);
    return reply;
}

struct service_reply service_client_call(struct service_client *client, const char *subject,
                                         const char *organization, const char *body, ...)
{
    struct service_reply reply;
    va_list args;

    va_start(args, body);
    reply = ask(client, subject, organization, body, args);
    va_end(args);
    return reply;
}

json_t *service_client_get(struct service_client *client, const char *subject,
                           const char *organization, const char *body, ...)
{
    struct service_reply reply;
    va_list args;

    va_start(args, body);
    reply = ask(client, subject, organization, body, args);
    va_end(args);
    cr_assert_eq(reply.outcome, OUTCOME_OK, "%s: %s %s", subject, outcome_name(reply.outcome),
                 json_dumps(reply.body, 0));
    return reply.body;
}

static const json_t *at_path(const json_t *value, const char *path)
{
    struct str rest = str_of(path);

    while (rest.p != NULL && value != NULL) {
        char name[64];
        struct str part = str_cut(&rest, '.');

        snprintf(name, sizeof(name), "%.*s", STR_ARG(part));
        value = json_is_array(value) ? json_array_get(value, strtoul(name, NULL, 10))
                                     : json_object_get(value, name);
    }
    return value;
}

const char *reply_text(const json_t *body, const char *path)
{
    const char *text = json_string_value(at_path(body, path));

    cr_assert_not_null(text, "%s in %s", path, json_dumps(body, JSON_ENCODE_ANY));
    return text;
}

long long reply_integer(const json_t *body, const char *path)
{
    const json_t *value = at_path(body, path);

    cr_assert(json_is_integer(value), "%s in %s", path, json_dumps(body, JSON_ENCODE_ANY));
    return json_integer_value(value);
}

const char *token_hash_hex(const char *token)
{
    uint8_t hash[SHA256_BYTES];
    char *hex = never_free(calloc(1, 2 * SHA256_BYTES + 1));

    crypto_sha256(str_of(token), hash);
    crypto_hex(hash, sizeof(hash), hex);
    return hex;
}
