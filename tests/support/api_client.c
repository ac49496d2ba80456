#include "tests/support/api_client.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "tests/support/never_free.h"
#include "tests/support/sql.h"

static char *formatted(const char *pattern, va_list rest)
{
    char *text;

    cr_assert_geq(vasprintf(&text, pattern, rest), 0);
    return never_free(text);
}

char *format(const char *pattern, ...)
{
    va_list rest;
    char *text;

    va_start(rest, pattern);
    text = formatted(pattern, rest);
    va_end(rest);
    return text;
}

/* -- organizations ------------------------------------------------------------------------------
 */

static void copy_member(const json_t *object, const char *name, char *out, size_t capacity)
{
    const char *text = json_string_value(json_object_get(object, name));

    cr_assert(text != NULL && strlen(text) < capacity, "convctl printed no valid %s", name);
    memcpy(out, text, strlen(text) + 1);
}

void org_new_key(const struct org *org, const char *scope, char token[64], char id[37])
{
    json_t *key =
        convctl("key", "create", "--org", org->id, "--name", scope, "--scope", scope, NULL);

    copy_member(key, "token", token, 64);
    copy_member(key, "id", id, 37);
    json_decref(key);
}

void org_new(struct org *org)
{
    org_new_in(org, "main");
}

void org_new_in(struct org *org, const char *cell)
{
    struct uuid unique = uuid_v7(clock_us());
    char name[UUID_TEXT + 1];
    json_t *made;

    uuid_format(&unique, name);
    made = convctl("org", "create", "--name", name, "--plan", "growth", "--cell", cell, NULL);
    copy_member(made, "id", org->id, sizeof(org->id));
    json_decref(made);
    org_new_key(org, "full", org->full_key, org->full_key_id);
    org_new_key(org, "read", org->read_key, org->read_key_id);
}

/* -- requests -----------------------------------------------------------------------------------
 */

struct client_response *api_get(const char *key, const char *path)
{
    return http_send(&(struct client_request){.method = "GET", .path = path, .key = key});
}

struct client_response *api_post(const char *key, const char *path, const char *body)
{
    return http_send(
        &(struct client_request){.method = "POST", .path = path, .key = key, .body = body});
}

struct client_response *api_put(const char *key, const char *path, const char *body)
{
    return http_send(
        &(struct client_request){.method = "PUT", .path = path, .key = key, .body = body});
}

struct client_response *api_create(const char *key, const char *pattern, ...)
{
    va_list rest;
    char *body;

    va_start(rest, pattern);
    body = formatted(pattern, rest);
    va_end(rest);
    return api_post(key, "/conversations", body);
}

const char *new_conversation(const struct org *org, const char *external_id, const char *contact)
{
    struct client_response *response =
        api_create(org->full_key, "{\"external_id\":\"%s\",\"from\":{\"external_id\":\"%s\"}}",
                   external_id, contact);

    expect_status(response, 201);
    return text_at(response, "id");
}

struct client_response *read_conversation(const struct org *org, const char *id)
{
    return api_get(org->read_key, format("/conversations/%s", id));
}

struct client_response *update_conversation(const struct org *org, const char *id,
                                            const char *pattern, ...)
{
    va_list rest;
    char *body;

    va_start(rest, pattern);
    body = formatted(pattern, rest);
    va_end(rest);
    return api_put(org->full_key, format("/conversations/%s", id), body);
}

struct sender {
    pthread_t thread;
    pthread_barrier_t *start;
    const struct client_request *request;
    struct client_response *response;
};

static void *send_one(void *closure)
{
    struct sender *sender = closure;

    pthread_barrier_wait(sender->start);
    sender->response = http_send(sender->request);
    return NULL;
}

void api_send_together(const struct client_request *requests, int n,
                       struct client_response **responses)
{
    struct sender *senders = calloc((size_t)n, sizeof(*senders));
    pthread_barrier_t start;

    cr_assert_not_null(senders);
    pthread_barrier_init(&start, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) {
        senders[i] = (struct sender){.start = &start, .request = &requests[i]};
        cr_assert_eq(pthread_create(&senders[i].thread, NULL, send_one, &senders[i]), 0);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(senders[i].thread, NULL);
        responses[i] = senders[i].response;
    }
    pthread_barrier_destroy(&start);
    free(senders);
}

bool api_in_one_window(struct client_response *const *responses, int n)
{
    const long end = http_header_integer(responses[0], "X-RateLimit-Reset");

    for (int i = 1; i < n; i++)
        if (http_header_integer(responses[i], "X-RateLimit-Reset") != end)
            return false;
    return true;
}

/* -- looking into responses -----------------------------------------------------------------------
 */

const json_t *json_at(const json_t *value, const char *path)
{
    while (value != NULL && *path != '\0') {
        if (*path == '[') {
            value = json_array_get(value, strtoul(path + 1, NULL, 10));
            path += strcspn(path, "]") + 1;
        } else {
            size_t n = strcspn(path, ".[");
            char name[128];

            snprintf(name, sizeof(name), "%.*s", (int)n, path);
            value = json_object_get(value, name);
            path += n;
        }
        path += *path == '.';
    }
    return value;
}

const json_t *at(const struct client_response *response, const char *path)
{
    return json_at(response->json, path);
}

const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));

    return text != NULL ? text : "";
}

const char *text_at(const struct client_response *response, const char *path)
{
    const char *text = json_string_value(at(response, path));

    cr_assert_not_null(text, "%s: %d, %s is not a string: %s", response->about, response->status,
                       path, response->body);
    return text;
}

long long integer_at(const struct client_response *response, const char *path)
{
    const json_t *value = at(response, path);

    cr_assert(json_is_integer(value), "%s: %d, %s is not an integer: %s", response->about,
              response->status, path, response->body);
    return json_integer_value(value);
}

void expect_status(const struct client_response *response, int status)
{
    cr_assert_eq(response->status, status, "%s: %d where %d was expected: %s", response->about,
                 response->status, status, response->body);
}

static bool is_one_of(const char *name, const char *names)
{
    const char *found = names;
    size_t n = strlen(name);

    while ((found = strstr(found, name)) != NULL) {
        if ((found == names || found[-1] == ' ') && (found[n] == ' ' || found[n] == '\0'))
            return true;
        found += n;
    }
    return false;
}

void expect_members(const json_t *object, const char *names)
{
    size_t count = 1;
    const char *name;
    json_t *value;

    cr_assert(json_is_object(object), "no object, but one with %s was expected", names);
    json_object_foreach((json_t *)object, name, value)
        cr_assert(is_one_of(name, names), "unexpected member %s, not one of: %s", name, names);
    for (const char *p = names; *p != '\0'; p++)
        count += *p == ' ';
    cr_assert_eq(json_object_size(object), count, "%zu members, where these were expected: %s",
                 json_object_size(object), names);
}

void expect_error(const struct client_response *response, int status, const char *code,
                  const char *field)
{
    const json_t *errors = at(response, "errors");

    expect_status(response, status);
    expect_members(response->json, "type request_id errors");
    expect_text(response, "type", "error.list");
    expect_text(response, "request_id", response->request_id);
    cr_assert(json_array_size(errors) >= 1 && json_array_size(errors) <= 10, "%s", response->body);
    for (size_t i = 0; i < json_array_size(errors); i++) {
        const json_t *error = json_array_get(errors, i);
        bool has_field = json_object_get(error, "field") != NULL;

        expect_members(error, has_field ? "code message field" : "code message");
        cr_assert_gt(json_string_length(json_object_get(error, "message")), 0, "%s",
                     response->body);
    }
    cr_assert_str_eq(text_at(response, "errors[0].code"), code, "%s: %s", response->about,
                     response->body);
    if (field == NULL)
        cr_assert_null(at(response, "errors[0].field"), "%s: %s", response->about, response->body);
    else if (strcmp(field, "*") != 0)
        cr_assert_str_eq(text_at(response, "errors[0].field"), field, "%s: %s", response->about,
                         response->body);
}

void expect_text(const struct client_response *response, const char *path, const char *text)
{
    cr_assert_str_eq(text_at(response, path), text, "%s: %s is not %s: %s", response->about, path,
                     text, response->body);
}

void expect_integer(const struct client_response *response, const char *path, long long integer)
{
    cr_assert_eq(integer_at(response, path), integer, "%s: %s is not %lld: %s", response->about,
                 path, integer, response->body);
}

void expect_null(const struct client_response *response, const char *path)
{
    cr_assert(json_is_null(at(response, path)), "%s: %s is not null: %s", response->about, path,
              response->body);
}

void expect_json(const struct client_response *response, const char *path, const char *json)
{
    json_t *wanted = json_loads(json, JSON_DECODE_ANY, NULL);

    cr_assert_not_null(wanted, "%s", json);
    cr_assert(json_equal(at(response, path), wanted), "%s: %s is not %s: %s", response->about, path,
              json, response->body);
    json_decref(wanted);
}

void expect_uuid(const char *text)
{
    struct uuid id;

    cr_assert(uuid_parse(str_of(text), &id), "%s is not a UUID in lower case", text);
}

void expect_recorded(const struct org *org, const struct client_response *response,
                     const char *operation)
{
    const char *outcome = response->status < 300                               ? "allowed"
                          : response->status == 403 || response->status == 429 ? "denied"
                          : response->status < 500                             ? "rejected"
                                                                               : "error";
    const char *reason =
        strcmp(outcome, "denied") == 0 ? text_at(response, "errors[0].code") : "none";
    const char *found = sql_text("SELECT string_agg(concat_ws(' ', operation, http_status, outcome,"
                                 " coalesce(denial_reason, 'none')), ', ') FROM audit.entries"
                                 " WHERE organization_id = $1::uuid AND request_id = $2::uuid",
                                 org->id, response->request_id, NULL);
    const char *wanted = format("%s %d %s %s", operation, response->status, outcome, reason);

    cr_assert(found != NULL && strcmp(found, wanted) == 0, "%s: the audit log has %s, not %s",
              response->about, found != NULL ? found : "nothing", wanted);
}
