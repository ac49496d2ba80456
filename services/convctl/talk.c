#include "services/convctl/talk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/uuid.h"
#include "common/wire/json.h"
#include "proto/headers.h"
#include "proto/outcome.h"
#include "proto/permission.h"

#define PATIENCE_MS 5000
#define QUIET_MS    500 /* after which nobody else is expected to answer */
#define NOT_ALLOWED "the bus does not let this user ask for that; nothing was done"

struct talk {
    struct bus *bus;
};

static enum status failed(struct failure *failure, const char *code, const char *message)
{
    *failure = (struct failure){code, message};
    return ST_REFUSED;
}

/* -- the answer ------------------------------------------------------------------------------ */

/* "name must be ...; plan must be ...": people read fields as subjects of the sentence. */
static const char *problems_text(json_t *problems, struct arena *arena)
{
    struct buf text;
    json_t *problem;
    size_t i;

    buf_init(&text, arena, 128);
    json_array_foreach(problems, i, problem)
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

static enum status refused(enum outcome outcome, json_t *problems, struct arena *arena,
                           struct failure *failure)
{
    struct str code = json_member_text(json_array_get(problems, 0), "code");

    if (code.n == 0)
        return failed(failure, outcome_code(outcome),
                      outcome_http_status(outcome) == 503 ? "the service cannot take this now"
                                                          : "the service failed");
    return failed(failure, arena_cstr(arena, code), problems_text(problems, arena));
}

enum status talk_judge(struct str outcome_name, struct str body, struct arena *arena,
                       struct str *answer, struct failure *failure)
{
    enum outcome outcome;
    char error[160];
    json_t *value = NULL;
    enum status st;

    if (!outcome_of(outcome_name, &outcome))
        return failed(failure, "server_error", "the service's answer is not understood");
    if (!json_read(body, &value, error) && outcome_code(outcome) == NULL)
        return failed(failure, "server_error", "the service's answer is not JSON");
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
    int64_t until_us = clock_mono_us() + PATIENCE_MS * INT64_C(1000);

    while (!bus_is_up(bus) && !bus_is_turned_away(bus)) {
        int64_t left_ms = (until_us - clock_mono_us()) / 1000;

        if (left_ms <= 0)
            return false;
        bus_wait(bus, (int)left_ms);
    }
    return bus_is_up(bus);
}

enum status talk_ask(struct talk *talk, const struct talk_request *request, struct arena *arena,
                     struct str *answer, struct failure *failure)
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
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + PATIENCE_MS);
    st = bus_call(talk->bus, request->subject, headers, request->organization != NULL ? 3 : 2,
                  request->body, PATIENCE_MS, &reply);
    if (st == ST_UNAVAILABLE)
        return failed(failure, "service_unavailable", "no service answers; nothing was done");
    if (st == ST_REFUSED)
        return failed(failure, "forbidden", NOT_ALLOWED);
    if (st != ST_OK)
        return failed(failure, "server_error",
                      request->only_reads ? "no answer came in time"
                                          : "no answer came in time; it may have been done");
    st = talk_judge(bus_message_header(reply, HEADER_OUTCOME), bus_message_body(reply), arena,
                    answer, failure);
    bus_message_free(reply);
    return st;
}

/* What has come; how many. */
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

enum status talk_ask_all(struct talk *talk, const char *subject,
                         void (*hear)(void *closure, struct str body), void *closure,
                         struct failure *failure)
{
    int64_t now_us = clock_mono_us(), last_us = now_us, until_us = now_us + PATIENCE_MS * 1000;
    struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], inbox[128];
    struct bus_mailbox *answers;

    uuid_format(&id, id_text);
    snprintf(inbox, sizeof(inbox), "%s.%s", bus_user_inbox(BUS_USER_OPERATOR), id_text);
    answers = bus_serve(talk->bus, inbox, NULL);
    if (bus_publish(talk->bus, subject, inbox, NULL, 0, STR("")) != ST_OK)
        return failed(failure, "service_unavailable", "the bus is out of reach");
    (void)bus_flush(talk->bus);
    while (now_us < until_us && now_us - last_us < QUIET_MS * INT64_C(1000)) {
        bus_wait(talk->bus, QUIET_MS / 5);
        now_us = clock_mono_us();
        if (hear_all(answers, hear, closure) > 0)
            last_us = now_us;
    }
    if (bus_permission_violations(talk->bus) > 0)
        return failed(failure, "forbidden", NOT_ALLOWED);
    return ST_OK;
}

struct talk *talk_open(const struct talk_request *request, struct failure *failure)
{
    const struct bus_options options = {
        .url = request->nats_url,
        .name = "convctl",
        .tls = request->bus_tls,
        .inbox_prefix = bus_user_inbox(BUS_USER_OPERATOR),
    };
    struct talk *talk = calloc(1, sizeof(*talk));

    must(talk != NULL);
    talk->bus = bus_connect(&options);
    if (talk->bus != NULL && wait_for_link(talk->bus))
        return talk;
    if (talk->bus == NULL)
        (void)failed(failure, "service_unavailable", "the bus's URL cannot be used");
    else if (bus_is_turned_away(talk->bus))
        (void)failed(failure, "unauthorized",
                     "the bus refused the user or the password; nothing was done");
    else
        (void)failed(failure, "service_unavailable", "the bus is out of reach; nothing was done");
    talk_close(talk);
    return NULL;
}

void talk_close(struct talk *talk)
{
    bus_free(talk->bus);
    free(talk);
}

enum status talk(const struct talk_request *request, struct arena *arena, struct str *answer,
                 struct failure *failure)
{
    struct talk *link = talk_open(request, failure);
    enum status st;

    if (link == NULL)
        return ST_REFUSED;
    st = talk_ask(link, request, arena, answer, failure);
    talk_close(link);
    return st;
}
