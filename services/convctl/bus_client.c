#include "services/convctl/bus_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/arena.h"
#include "common/base/cell.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/uuid.h"
#include "common/json/json.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/subject.h"

#define TIMEOUT_MS  5000
#define QUIET_MS    500 /* without a reply, after which no more are expected */
#define NOT_ALLOWED "the bus does not permit this user to send the command; nothing was done"

struct bus_client {
    struct bus *bus;
    bool knows_cell;
    char cell[CELL_CAPACITY]; /* of the requests' organization */
};

static enum status failed(struct convctl_failure *failure, const char *code, const char *message)
{
    *failure = (struct convctl_failure){code, message};
    return ST_REFUSED;
}

/* -- the answer ------------------------------------------------------------------------------ */

/* "name must be ...; plan must be ...": each message is written to follow its field's name. */
static const char *errors_text(json_t *errors, struct arena *arena)
{
    struct buf text;
    json_t *problem;
    size_t i;

    buf_init(&text, arena, 128);
    json_array_foreach(errors, i, problem)
    {
        struct str field = json_member_text(problem, "field");

        if (text.n > 0)
            buf_add(&text, STR("; "));
        if (field.n > 0) {
            buf_add(&text, field);
            buf_char(&text, ' ');
        }
        buf_add(&text, json_member_text(problem, "message"));
    }
    return arena_cstr(arena, buf_str(&text));
}

static enum status refused(enum outcome outcome, json_t *errors, struct arena *arena,
                           struct convctl_failure *failure)
{
    struct str code = json_member_text(json_array_get(errors, 0), "code");

    if (code.n == 0)
        return failed(failure, outcome_code(outcome),
                      outcome_http_status(outcome) == 503 ? "the service is busy"
                                                          : "the service failed");
    return failed(failure, arena_cstr(arena, code), errors_text(errors, arena));
}

enum status bus_client_classify(struct str outcome_name, struct str body, struct arena *arena,
                                struct str *answer, struct convctl_failure *failure)
{
    enum outcome outcome;
    char error[160];
    json_t *value = NULL;
    enum status st;

    if (!outcome_of(outcome_name, &outcome))
        return failed(failure, "server_error", "the service's reply has an unknown outcome");
    if (!json_read(body, &value, error) && outcome_code(outcome) == NULL)
        return failed(failure, "server_error", "the service's reply is not JSON");
    if (outcome_code(outcome) == NULL) {
        *answer = arena_str(arena, body);
        st = ST_OK;
    } else {
        st = refused(outcome, value, arena, failure);
    }
    json_free(value);
    return st;
}

/* -- the way there and back ------------------------------------------------------------------ */

static bool wait_for_link(struct bus *bus)
{
    int64_t until_us = clock_mono_us() + TIMEOUT_MS * INT64_C(1000);

    while (bus_trouble(bus) == BUS_UNREACHABLE) {
        const int left_ms = clock_left_ms(until_us, clock_mono_us(), TIMEOUT_MS);

        if (left_ms == 0)
            return false;
        bus_wait(bus, left_ms);
    }
    return bus_is_up(bus);
}

static enum status send_to(struct bus_client *client, const char *subject,
                           const struct bus_client_request *request, struct arena *arena,
                           struct str *answer, struct convctl_failure *failure)
{
    struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], deadline[24];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},
        {HEADER_DEADLINE, deadline},
        {HEADER_ORGANIZATION, request->organization},
    };
    struct bus_message *reply = NULL;
    enum status st;

    uuid_format(&id, id_text);
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + TIMEOUT_MS);
    st = bus_call(client->bus, subject, headers, request->organization != NULL ? 3 : 2,
                  request->body, TIMEOUT_MS, &reply);
    if (st == ST_UNAVAILABLE)
        return failed(failure, "service_unavailable", "no service replied; nothing was done");
    if (st == ST_REFUSED)
        return failed(failure, "forbidden", NOT_ALLOWED);
    if (st != ST_OK)
        return failed(failure, "server_error",
                      request->only_reads
                          ? "no reply came in time"
                          : "no reply came in time; the command may have been carried out");
    st = bus_client_classify(bus_message_header(reply, HEADER_OUTCOME), bus_message_body(reply),
                             arena, answer, failure);
    bus_message_free(reply);
    return st;
}

/* Asks the directory, which also tells whether the organization exists. */
static enum status find_cell(struct bus_client *client, const struct bus_client_request *request,
                             struct arena *arena, struct convctl_failure *failure)
{
    const struct bus_client_request question = {.organization = request->organization,
                                                .only_reads = true};
    struct str answer = STR_NONE;
    json_t *value = NULL;
    enum status st = send_to(client, SUBJECT_ACCESS_ORG_GET, &question, arena, &answer, failure);
    char error[160];

    if (st != ST_OK)
        return st;
    if (!json_read(answer, &value, error) ||
        !cell_read(json_member_text(value, "cell"), client->cell))
        st = failed(failure, "server_error", "the reply does not name the organization's cell");
    client->knows_cell = st == ST_OK;
    json_free(value);
    return st;
}

enum status bus_client_send(struct bus_client *client, const struct bus_client_request *request,
                            struct arena *arena, struct str *answer,
                            struct convctl_failure *failure)
{
    char in_cell[CELL_SUBJECT_CAPACITY];

    if (!client->knows_cell && request->organization != NULL &&
        subject_is_of_cell(request->subject)) {
        enum status st = find_cell(client, request, arena, failure);

        if (st != ST_OK)
            return st;
    }
    return send_to(
        client,
        subject_in_cell(request->subject, client->knows_cell ? client->cell : NULL, in_cell),
        request, arena, answer, failure);
}

/* Reads the replies that have arrived; returns their number. */
static size_t hear_all(struct bus_mailbox *answers, void (*hear)(void *closure, struct str body),
                       void *closure)
{
    struct bus_message *message;
    size_t n = 0;

    while ((message = bus_take(answers)) != NULL) {
        hear(closure, bus_message_body(message));
        bus_message_free(message);
        n++;
    }
    return n;
}

enum status bus_client_send_to_all(struct bus_client *client, const char *subject,
                                   void (*hear)(void *closure, struct str body), void *closure,
                                   struct convctl_failure *failure)
{
    int64_t now_us = clock_mono_us(), last_us = now_us, until_us = now_us + TIMEOUT_MS * 1000;
    struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], inbox[128];
    struct bus_mailbox *answers;

    uuid_format(&id, id_text);
    snprintf(inbox, sizeof(inbox), "%s.%s", bus_user_inbox(BUS_USER_OPERATOR), id_text);
    answers = bus_serve(client->bus, inbox, NULL);
    if (bus_publish(client->bus, subject, inbox, NULL, 0, STR("")) != ST_OK)
        return failed(failure, "service_unavailable", "the bus is unreachable");
    (void)bus_flush(client->bus);
    while (now_us < until_us && now_us - last_us < QUIET_MS * INT64_C(1000)) {
        bus_wait(client->bus, QUIET_MS / 5);
        now_us = clock_mono_us();
        if (hear_all(answers, hear, closure) > 0)
            last_us = now_us;
    }
    if (bus_permission_violations(client->bus) > 0)
        return failed(failure, "forbidden", NOT_ALLOWED);
    return ST_OK;
}

static enum status fail_to_open(const struct bus *bus, struct arena *arena,
                                struct convctl_failure *failure)
{
    const enum bus_trouble trouble = bus_trouble(bus);

    return failed(failure, trouble == BUS_DENIED ? "unauthorized" : "service_unavailable",
                  arena_printf(arena, "%s; nothing was done", bus_trouble_text(trouble)));
}

struct bus_client *bus_client_open(const struct bus_client_request *request, struct arena *arena,
                                   struct convctl_failure *failure)
{
    const struct bus_options options = {
        .url = request->nats_url,
        .name = "convctl",
        .settings = request->bus_settings,
        .inbox_prefix = bus_user_inbox(BUS_USER_OPERATOR),
    };
    struct bus_client *client = heap_zeroed(1, sizeof(*client));
    char why[BUS_WHY] = "";

    if (bus_can_use(&options, why))
        client->bus = bus_connect(&options);
    if (client->bus != NULL && wait_for_link(client->bus))
        return client;
    if (client->bus != NULL)
        (void)fail_to_open(client->bus, arena, failure);
    else
        (void)failed(failure, "usage", arena_printf(arena, "%s", why));
    bus_client_close(client);
    return NULL;
}

void bus_client_close(struct bus_client *client)
{
    bus_free(client->bus);
    free(client);
}

enum status bus_client_send_once(const struct bus_client_request *request, struct arena *arena,
                                 struct str *answer, struct convctl_failure *failure)
{
    struct bus_client *link = bus_client_open(request, arena, failure);
    enum status st;

    if (link == NULL)
        return ST_REFUSED;
    st = bus_client_send(link, request, arena, answer, failure);
    bus_client_close(link);
    return st;
}

static json_int_t sum_of(const json_t *endpoints, const char *figure)
{
    json_int_t sum = 0;

    /* A foreign process can report any figure. */
    for (size_t i = 0; i < json_array_size(endpoints); i++) {
        const json_t *one = json_object_get(json_array_get(endpoints, i), figure);

        if (__builtin_add_overflow(sum, json_integer_value(one), &sum))
            return 0;
    }
    return sum;
}

static void put_text(json_t *into, const char *name, const json_t *from)
{
    struct str text = json_member_text(from, name);

    json_object_set_new(into, name, json_stringn(text.p != NULL ? text.p : "", text.n));
}

static json_t *line_of(const json_t *stats)
{
    const json_t *endpoints = json_object_get(stats, "endpoints");
    json_t *line = json_object();

    must(line != NULL);
    put_text(line, "name", stats);
    put_text(line, "instance", json_object_get(stats, "metadata"));
    put_text(line, "cell", json_object_get(stats, "metadata"));
    put_text(line, "id", stats);
    put_text(line, "version", stats);
    put_text(line, "started", stats);
    json_object_set_new(line, "requests", json_integer(sum_of(endpoints, "num_requests")));
    json_object_set_new(line, "errors", json_integer(sum_of(endpoints, "num_errors")));
    return line;
}

static bool is_before(const json_t *a, const json_t *b)
{
    static const char *const keys[] = {"name", "instance", "id"};
    int order = 0;

    for (size_t i = 0; order == 0 && i < ARRAY_SIZE(keys); i++)
        order = strcmp(json_string_value(json_object_get(a, keys[i])),
                       json_string_value(json_object_get(b, keys[i])));
    return order < 0;
}

/* A service of ours is recognized by its name, which is that of its bus user. */
static bool is_ours(const json_t *stats)
{
    struct str name = json_member_text(stats, "name");

    for (int user = 0; name.n > 0 && user < BUS_USER_COUNT; user++)
        if (bus_user_answers(user) && str_equal(name, str_of(bus_user_name(user))))
            return true;
    return false;
}

/* Other systems on the bus get the request too: their replies are ignored, and so is the server's
   "no responders". */
void services_hear(json_t *list, struct str reply)
{
    json_t *stats, *line;
    char error[160];
    size_t at = 0;
    int failed;

    if (!json_read(reply, &stats, error))
        return;
    line = is_ours(stats) ? line_of(stats) : NULL;
    json_free(stats);
    if (line == NULL)
        return;
    while (at < json_array_size(list) && is_before(json_array_get(list, at), line))
        at++;
    failed = json_array_insert_new(list, at, line);
    must(!failed);
}

static void hear(void *closure, struct str body)
{
    services_hear(closure, body);
}

enum status list_services(const struct bus_client_request *request, struct arena *arena,
                          struct str *answer, struct convctl_failure *failure)
{
    struct bus_client *client = bus_client_open(request, arena, failure);
    json_t *list = json_array();
    enum status st = ST_REFUSED;
    char *text = NULL;

    must(list != NULL);
    if (client != NULL) {
        st = bus_client_send_to_all(client, request->subject, hear, list, failure);
        bus_client_close(client);
    }
    if (st == ST_OK) {
        text = json_dumps(list, JSON_COMPACT);
        *answer = arena_str(arena, str_of(text));
    }
    free(text);
    json_decref(list);
    return st;
}
