#include "tests/support/service_client.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ascii.h"
#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "common/crypto/crypto.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "tests/support/never_free.h"

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

struct service_client *service_connection;

void service_connection_open(void)
{
    stack_share();
    service_connection = service_client_open();
}

void service_connection_close(void)
{
    service_client_close(service_connection);
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

enum { HEADERS_MAX = 6 };

static struct service_reply call(struct service_client *client, const struct signed_in_user *user,
                                 const char *subject, const char *organization, const char *body)
{
    const struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], deadline[24];
    struct bus_header headers[HEADERS_MAX] = {{HEADER_REQUEST_ID, id_text},
                                              {HEADER_DEADLINE, deadline}};
    struct bus_message *message = NULL;
    struct service_reply reply = {.took_us = clock_mono_us()};
    size_t n = 2;
    enum status st;

    uuid_format(&id, id_text);
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + TIMEOUT_MS);
    if (organization != NULL)
        headers[n++] = (struct bus_header){HEADER_ORGANIZATION, organization};
    if (user != NULL) {
        headers[n++] = (struct bus_header){HEADER_USER, user->user_id};
        headers[n++] = (struct bus_header){HEADER_USER_EMAIL, user->email};
        headers[n++] = (struct bus_header){HEADER_CLIENT, user->address};
    }
    do
        st = bus_call(client->bus, subject, headers, n, str_of(body), TIMEOUT_MS, &message);
    while (st == ST_UNAVAILABLE && clock_mono_us() - reply.took_us < ABSENCE_US);
    cr_assert_eq(st, ST_OK, "%s: %s", subject, status_name(st));
    reply.took_us = clock_mono_us() - reply.took_us;
    read_reply(message, &reply);
    return reply;
}

static json_t *body_of_ok(const char *subject, const struct service_reply *reply)
{
    cr_assert_eq(reply->outcome, OUTCOME_OK, "%s: %s %s", subject, outcome_name(reply->outcome),
                 json_dumps(reply->body, JSON_ENCODE_ANY));
    return reply->body;
}

struct service_reply service_client_call(struct service_client *client, const char *subject,
                                         const char *organization, const char *body, ...)
{
    char text[BODY_MAX];
    va_list args;

    va_start(args, body);
    cr_assert_lt(vsnprintf(text, sizeof(text), body, args), BODY_MAX);
    va_end(args);
    return call(client, NULL, subject, organization, text);
}

json_t *service_client_get(struct service_client *client, const char *subject,
                           const char *organization, const char *body, ...)
{
    char text[BODY_MAX];
    struct service_reply reply;
    va_list args;

    va_start(args, body);
    cr_assert_lt(vsnprintf(text, sizeof(text), body, args), BODY_MAX);
    va_end(args);
    reply = call(client, NULL, subject, organization, text);
    return body_of_ok(subject, &reply);
}

/* -- on behalf of a user --------------------------------------------------------------------- */

const struct signed_in_user some_user = {"01890a5d-ac96-774b-bcce-b302099a8057", "ada@example.com",
                                         "192.0.2.7"};

struct service_reply service_client_call_as(struct service_client *client,
                                            const struct signed_in_user *user, const char *subject,
                                            const char *organization, const char *body)
{
    return call(client, user, subject, organization, body);
}

json_t *service_client_get_as(struct service_client *client, const struct signed_in_user *user,
                              const char *subject, const char *organization, const char *body)
{
    const struct service_reply reply = call(client, user, subject, organization, body);

    return body_of_ok(subject, &reply);
}

/* -- contents of a reply --------------------------------------------------------------------- */

const char *reply_text(const json_t *body, const char *path)
{
    const char *text = json_string_value(json_at(body, path));

    cr_assert_not_null(text, "%s in %s", path, json_dumps(body, JSON_ENCODE_ANY));
    return text;
}

long long reply_integer(const json_t *body, const char *path)
{
    const json_t *value = json_at(body, path);

    cr_assert(json_is_integer(value), "%s in %s", path, json_dumps(body, JSON_ENCODE_ANY));
    return json_integer_value(value);
}

const char *token_hash_hex(const char *token)
{
    uint8_t hash[SHA256_BYTES];
    char *hex = never_free(calloc(1, 2 * SHA256_BYTES + 1));

    crypto_sha256(str_of(token), hash);
    hex_write(hash, sizeof(hash), hex);
    return hex;
}

/* -- users of the dashboard ------------------------------------------------------------------ */

const char *dashboard_user_address(void)
{
    struct uuid id = uuid_v7(clock_us());

    /* With leading zeros, unlike the canonical form. */
    return format("2001:db8:%04x:%04x::1", (unsigned)((id.b[12] & 0x0f) << 8 | id.b[13]),
                  (unsigned)(id.b[14] << 8 | id.b[15]));
}

json_t *dashboard_user_create(struct service_client *client, const char *org, const char *email,
                              const char *role)
{
    return service_client_get(
        client, SUBJECT_SESSION_USER_CREATE, org,
        "{\"email\":\"%s\",\"role\":\"%s\",\"password\":\"" USER_PASSWORD "\"}", email, role);
}

static void join(struct service_client *client, const struct org *org, struct dashboard_user *user,
                 const char *name, const char *role)
{
    user->org = *org;
    snprintf(user->email, sizeof(user->email), "%s%s@example.org", name, org->id);
    snprintf(user->address, sizeof(user->address), "%s", dashboard_user_address());
    snprintf(user->id, sizeof(user->id), "%s",
             reply_text(dashboard_user_create(client, org->id, user->email, role), "id"));
}

void dashboard_user_new(struct service_client *client, struct dashboard_user *user,
                        const char *role)
{
    struct org org;

    org_new(&org);
    join(client, &org, user, "", role);
}

void dashboard_user_join(struct service_client *client, const struct dashboard_user *first,
                         struct dashboard_user *user, const char *name, const char *role)
{
    join(client, &first->org, user, name, role);
}

struct service_reply dashboard_user_sign_in(struct service_client *client,
                                            const struct dashboard_user *user, const char *email,
                                            const char *password)
{
    return service_client_call(client, SUBJECT_SESSION_SIGN_IN, NULL,
                               "{\"email\":\"%s\",\"password\":\"%s\",\"address\":\"%s\","
                               "\"user_agent\":\"Browser/1\"}",
                               email, password, user->address);
}

const char *dashboard_user_session(struct service_client *client, const struct dashboard_user *user)
{
    const struct service_reply reply =
        dashboard_user_sign_in(client, user, user->email, USER_PASSWORD);

    cr_assert_eq(reply.outcome, OUTCOME_OK, "%s", outcome_name(reply.outcome));
    return reply_text(reply.body, "session");
}

struct service_reply dashboard_user_session_check(struct service_client *client, const char *token)
{
    return service_client_call(client, SUBJECT_ACCESS_SESSION_CHECK, NULL,
                               "{\"token_hash\":\"%s\"}", token_hash_hex(token));
}

bool dashboard_user_session_is_good(struct service_client *client, const char *token)
{
    const struct service_reply reply = dashboard_user_session_check(client, token);

    cr_assert(reply.outcome == OUTCOME_OK || reply.outcome == OUTCOME_UNAUTHORIZED);
    return reply.outcome == OUTCOME_OK;
}
