#include "tests/support/api.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "tests/support/sql.h"

static char *formatted(const char *pattern, va_list rest)
{
    /* Reachable, like answers, for as long as the test runs. */
    static struct piece {
        struct piece *next;
        char text[];
    } * pieces;
    va_list again;
    struct piece *piece;
    int n;

    va_copy(again, rest);
    n = vsnprintf(NULL, 0, pattern, again);
    va_end(again);
    cr_assert_geq(n, 0);
    piece = malloc(sizeof(*piece) + (size_t)n + 1);
    cr_assert_not_null(piece);
    vsnprintf(piece->text, (size_t)n + 1, pattern, rest);
    piece->next = __atomic_exchange_n(&pieces, piece, __ATOMIC_ACQ_REL);
    return piece->text;
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

void api_open(void)
{
    stack_share();
}

static void copy_member(const json_t *object, const char *name, char *out, size_t room)
{
    const char *text = json_string_value(json_object_get(object, name));

    cr_assert(text != NULL && strlen(text) < room, "convctl printed no proper %s", name);
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
    struct uuid unique = uuid_v7(clock_us());
    char name[UUID_TEXT + 1];
    json_t *made;

    uuid_format(&unique, name);
    made = convctl("org", "create", "--name", name, "--plan", "growth", NULL);
    copy_member(made, "id", org->id, sizeof(org->id));
    json_decref(made);
    org_new_key(org, "full", org->full_key, org->full_key_id);
    org_new_key(org, "read", org->read_key, org->read_key_id);
}

/* -- requests -----------------------------------------------------------------------------------
 */

struct answer *api_get(const char *key, const char *path)
{
    return http_send(&(struct http_request){.method = "GET", .path = path, .key = key});
}

struct answer *api_post(const char *key, const char *path, const char *body)
{
    return http_send(
        &(struct http_request){.method = "POST", .path = path, .key = key, .body = body});
}

struct answer *api_put(const char *key, const char *path, const char *body)
{
    return http_send(
        &(struct http_request){.method = "PUT", .path = path, .key = key, .body = body});
}

struct answer *api_create(const char *key, const char *pattern, ...)
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
    struct answer *answer =
        api_create(org->full_key, "{\"external_id\":\"%s\",\"from\":{\"external_id\":\"%s\"}}",
                   external_id, contact);

    expect_status(answer, 201);
    return text_at(answer, "id");
}

struct answer *read_conversation(const struct org *org, const char *id)
{
    return api_get(org->read_key, format("/conversations/%s", id));
}

struct answer *update_conversation(const struct org *org, const char *id, const char *pattern, ...)
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
    const struct http_request *request;
    struct answer *answer;
};

static void *send_one(void *closure)
{
    struct sender *sender = closure;

    pthread_barrier_wait(sender->start);
    sender->answer = http_send(sender->request);
    return NULL;
}

void api_send_together(const struct http_request *requests, int n, struct answer **answers)
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
        answers[i] = senders[i].answer;
    }
    pthread_barrier_destroy(&start);
    free(senders);
}

static bool has_left(void *closure)
{
    return 10000 - clock_us() / 1000 % 10000 > *(const int *)closure;
}

void api_begin_in_window(int left_ms)
{
    cr_assert(stack_wait(has_left, &left_ms, 11000));
}

bool api_in_one_window(struct answer *const *answers, int n)
{
    const long end = http_header_integer(answers[0], "X-RateLimit-Reset");

    for (int i = 1; i < n; i++)
        if (http_header_integer(answers[i], "X-RateLimit-Reset") != end)
            return false;
    return true;
}

/* -- looking into answers -----------------------------------------------------------------------
 */

const json_t *at(const struct answer *answer, const char *path)
{
    const json_t *value = answer->json;

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

const char *text_at(const struct answer *answer, const char *path)
{
    const char *text = json_string_value(at(answer, path));

    cr_assert_not_null(text, "%s: %d, %s is no string: %s", answer->about, answer->status, path,
                       answer->body);
    return text;
}

long long integer_at(const struct answer *answer, const char *path)
{
    const json_t *value = at(answer, path);

    cr_assert(json_is_integer(value), "%s: %d, %s is no integer: %s", answer->about, answer->status,
              path, answer->body);
    return json_integer_value(value);
}

void expect_status(const struct answer *answer, int status)
{
    cr_assert_eq(answer->status, status, "%s: %d where %d was expected: %s", answer->about,
                 answer->status, status, answer->body);
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

    cr_assert(json_is_object(object), "no object, where one with %s was expected", names);
    json_object_foreach((json_t *)object, name, value)
        cr_assert(is_one_of(name, names), "member %s is none of: %s", name, names);
    for (const char *p = names; *p != '\0'; p++)
        count += *p == ' ';
    cr_assert_eq(json_object_size(object), count, "%zu members, where these were expected: %s",
                 json_object_size(object), names);
}

void expect_error(const struct answer *answer, int status, const char *code, const char *field)
{
    const json_t *errors = at(answer, "errors");

    expect_status(answer, status);
    expect_members(answer->json, "type request_id errors");
    expect_text(answer, "type", "error.list");
    expect_text(answer, "request_id", answer->request_id);
    cr_assert(json_array_size(errors) >= 1 && json_array_size(errors) <= 10, "%s", answer->body);
    for (size_t i = 0; i < json_array_size(errors); i++) {
        const json_t *error = json_array_get(errors, i);
        bool has_field = json_object_get(error, "field") != NULL;

        expect_members(error, has_field ? "code message field" : "code message");
        cr_assert_gt(json_string_length(json_object_get(error, "message")), 0, "%s", answer->body);
    }
    cr_assert_str_eq(text_at(answer, "errors[0].code"), code, "%s: %s", answer->about,
                     answer->body);
    if (field == NULL)
        cr_assert_null(at(answer, "errors[0].field"), "%s: %s", answer->about, answer->body);
    else if (strcmp(field, "*") != 0)
        cr_assert_str_eq(text_at(answer, "errors[0].field"), field, "%s: %s", answer->about,
                         answer->body);
}

void expect_text(const struct answer *answer, const char *path, const char *text)
{
    cr_assert_str_eq(text_at(answer, path), text, "%s: %s is not %s: %s", answer->about, path, text,
                     answer->body);
}

void expect_integer(const struct answer *answer, const char *path, long long integer)
{
    cr_assert_eq(integer_at(answer, path), integer, "%s: %s is not %lld: %s", answer->about, path,
                 integer, answer->body);
}

void expect_null(const struct answer *answer, const char *path)
{
    cr_assert(json_is_null(at(answer, path)), "%s: %s is not null: %s", answer->about, path,
              answer->body);
}

void expect_json(const struct answer *answer, const char *path, const char *json)
{
    json_t *wanted = json_loads(json, JSON_DECODE_ANY, NULL);

    cr_assert_not_null(wanted, "%s", json);
    cr_assert(json_equal(at(answer, path), wanted), "%s: %s is not %s: %s", answer->about, path,
              json, answer->body);
    json_decref(wanted);
}

void expect_uuid(const char *text)
{
    struct uuid id;

    cr_assert(uuid_parse(str_of(text), &id), "%s is no UUID in lower case", text);
}

void expect_recorded(const struct org *org, const struct answer *answer, const char *operation)
{
    const char *outcome = answer->status < 300                             ? "allowed"
                          : answer->status == 403 || answer->status == 429 ? "denied"
                          : answer->status < 500                           ? "rejected"
                                                                           : "error";
    const char *reason =
        strcmp(outcome, "denied") == 0 ? text_at(answer, "errors[0].code") : "none";
    const char *found = sql_text("SELECT string_agg(concat_ws(' ', operation, http_status, outcome,"
                                 " coalesce(denial_reason, 'none')), ', ') FROM audit.entries"
                                 " WHERE organization_id = $1::uuid AND request_id = $2::uuid",
                                 org->id, answer->request_id, NULL);
    const char *wanted = format("%s %d %s %s", operation, answer->status, outcome, reason);

    cr_assert(found != NULL && strcmp(found, wanted) == 0, "%s: the trail has %s, not %s",
              answer->about, found != NULL ? found : "nothing", wanted);
}
