#include "tests/support/large_pages.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "tests/support/sql.h"

void large_page_make(const struct org *org, const char *code_point)
{
    new_conversation(org, "first", "u");
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO conversation.conversations (organization_id, id,"
                    " external_id, contact_id, channel, status, custom_attributes, created_at,"
                    " updated_at) SELECT organization_id, gen_random_uuid(), 'e' || i, contact_id,"
                    " channel, status, (SELECT jsonb_object_agg('k' || k,"
                    " repeat(chr($2::integer), 500)) FROM generate_series(1, 20) k), created_at,"
                    " updated_at FROM conversation.conversations, generate_series(1, 100) i"
                    " WHERE organization_id = $1::uuid RETURNING 1) SELECT count(*) FROM made",
                    org->id, code_point, NULL),
        100);
}

/* -- many at once ------------------------------------------------------------------------------ */

enum { DEADLINE_MS = 40 * 1000, TIMEOUT_MS = 50 * 1000 };

struct asked {
    size_t large;
    struct pages pages;
};

static void on_page(void *closure, uint64_t token, enum bus_reply_kind kind,
                    struct bus_message *message)
{
    struct asked *const asked = closure;

    asked->pages.n_replies++;
    if (kind == BUS_REPLY) {
        const struct str outcome = bus_message_header(message, HEADER_OUTCOME);

        asked->pages.n_large +=
            str_equal(outcome, STR("ok")) && bus_message_body(message).n > asked->large;
        asked->pages.n_busy += str_equal(outcome, STR("busy"));
    }
    bus_message_free(message);
}

static void ask_for_page(struct bus *bus, const struct org *org, const char *subject,
                         const char *body, uint64_t token)
{
    const struct uuid id = uuid_v7(clock_us());
    char id_text[UUID_TEXT + 1], deadline[24];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},   {HEADER_DEADLINE, deadline}, {HEADER_SCOPE, "read"},
        {HEADER_ORGANIZATION, org->id}, {HEADER_API_KEY, id_text},
    };

    uuid_format(&id, id_text);
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + DEADLINE_MS);
    cr_assert_eq(bus_request(bus, subject, token, headers, 5, str_of(body)), ST_OK);
}

static bool is_awaited(void *closure, uint64_t token)
{
    return true;
}

/* Of a user that may send the command: only there may the service reply as often as it likes. */
static const char *inbox_of_a_sender(const char *subject)
{
    const char *inbox = NULL;

    for (size_t i = 0; i < n_bus_permissions; i++)
        for (enum bus_user user = 0; user < BUS_USER_COUNT; user++)
            if (bus_permissions[i].kind == BUS_COMMAND &&
                strcmp(bus_permissions[i].subject, subject) == 0 && bus_user_asks(user) &&
                (bus_permissions[i].senders & 1U << user) != 0)
                inbox = bus_user_inbox(user);
    cr_assert_not_null(inbox, "nobody sends %s", subject);
    return inbox;
}

struct pages pages_ask(const struct org *org, const char *subject, const char *body, int n,
                       size_t large)
{
    const struct bus_options options = {.url = stack_setting("NATS_URL"),
                                        .name = "pages",
                                        .inbox_prefix = inbox_of_a_sender(subject)};
    const int64_t until_us = clock_mono_us() + INT64_C(1000) * TIMEOUT_MS;
    struct bus *const bus = bus_connect(&options);
    struct asked asked = {.large = large};

    bus_open_inbox(bus, on_page, is_awaited, &asked);
    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    for (int i = 0; i < n; i++)
        ask_for_page(bus, org, subject, body, (uint64_t)i);
    while (asked.pages.n_replies < n && clock_mono_us() < until_us)
        bus_wait(bus, 100);
    bus_free(bus);
    return asked.pages;
}
