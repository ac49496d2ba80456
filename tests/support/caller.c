#include "tests/support/caller.h"

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
#include "tests/support/keep.h"
#include "tests/support/stack.h"

enum { PATIENCE_MS = 30000, BODY_MOST = 65536 };

struct caller_link {
    struct bus *bus;
};

struct caller_link *caller_open(void)
{
    struct caller_link *link = calloc(1, sizeof(*link));

    cr_assert_not_null(link);
    link->bus =
        bus_connect(&(struct bus_options){.url = stack_setting("NATS_URL"), .name = "caller"});
    return link;
}

void caller_close(struct caller_link *link)
{
    bus_free(link->bus);
    free(link);
}

static void read_reply(struct bus_message *reply, struct said *said)
{
    struct str body = bus_message_body(reply);
    struct str wait = bus_message_header(reply, HEADER_RETRY_AFTER);

    cr_assert(outcome_of(bus_message_header(reply, HEADER_OUTCOME), &said->outcome));
    said->body = keep(json_loadb(body.p, body.n, JSON_DECODE_ANY, NULL));
    said->retry_after = wait.p != NULL ? strtol(wait.p, NULL, 10) : 0;
    bus_message_free(reply);
}

static struct said ask(struct caller_link *link, const char *subject, const char *organization,
                       const char *body, va_list args)
{
    const struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], deadline[24], text[BODY_MOST];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},
        {HEADER_DEADLINE, deadline},
        {HEADER_ORGANIZATION, organization},
    };
    struct bus_message *reply = NULL;
    struct said said = {.took_us = clock_mono_us()};

    uuid_format(&id, id_text);
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + PATIENCE_MS);
    cr_assert_lt(vsnprintf(text, sizeof(text), body, args), BODY_MOST);
    cr_assert_eq(bus_call(link->bus, subject, headers, organization != NULL ? 3 : 2, str_of(text),
                          PATIENCE_MS, &reply),
                 ST_OK, "%s", subject);
    said.took_us = clock_mono_us() - said.took_us;
    read_reply(reply, &said);
    return said;
}

struct said caller_ask(struct caller_link *link, const char *subject, const char *organization,
                       const char *body, ...)
{
    struct said said;
    va_list args;

    va_start(args, body);
    said = ask(link, subject, organization, body, args);
    va_end(args);
    return said;
}

json_t *caller_get(struct caller_link *link, const char *subject, const char *organization,
                   const char *body, ...)
{
    struct said said;
    va_list args;

    va_start(args, body);
    said = ask(link, subject, organization, body, args);
    va_end(args);
    cr_assert_eq(said.outcome, OUTCOME_OK, "%s: %s %s", subject, outcome_name(said.outcome),
                 json_dumps(said.body, 0));
    return said.body;
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

const char *said_text(const json_t *body, const char *path)
{
    const char *text = json_string_value(at_path(body, path));

    cr_assert_not_null(text, "%s in %s", path, json_dumps(body, JSON_ENCODE_ANY));
    return text;
}

long long said_integer(const json_t *body, const char *path)
{
    const json_t *value = at_path(body, path);

    cr_assert(json_is_integer(value), "%s in %s", path, json_dumps(body, JSON_ENCODE_ANY));
    return json_integer_value(value);
}

const char *said_hash(const char *token)
{
    uint8_t hash[SHA256_BYTES];
    char *hex = keep(calloc(1, 2 * SHA256_BYTES + 1));

    crypto_sha256(str_of(token), hash);
    crypto_hex(hash, sizeof(hash), hex);
    return hex;
}
