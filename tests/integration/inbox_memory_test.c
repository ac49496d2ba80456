/* How much the conversation service holds when many large pages are asked for at once. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "tests/support/api.h"
#include "tests/support/lenient.h"
#include "tests/support/sql.h"

/* Alone, since who else asks for a page waits until all of them are made. */
TestSuite(inbox_memory, .init = stack_have_alone, .timeout = 120);

enum { PAGES = 64, PAGE_LEAST = 1024 * 1024, PATIENCE_MS = 50 * 1000, PEAK_MOST_KB = 128 * 1024 };

static void make_a_large_page(const struct org *org)
{
    new_conversation(org, "first", "u");
    cr_assert_eq(
        sql_integer("WITH made AS (INSERT INTO conversation.conversations (organization_id, id,"
                    " external_id, contact_id, channel, status, custom_attributes, created_at,"
                    " updated_at) SELECT organization_id, gen_random_uuid(), 'e' || i, contact_id,"
                    " channel, status, (SELECT jsonb_object_agg('k' || k, repeat(chr(1), 500))"
                    " FROM generate_series(1, 20) k), created_at, updated_at"
                    " FROM conversation.conversations, generate_series(1, 100) i"
                    " WHERE organization_id = $1::uuid RETURNING 1) SELECT count(*) FROM made",
                    org->id, NULL),
        100);
}

struct seen {
    int n_replies, n_large;
};

static void on_page(void *closure, uint64_t token, enum bus_reply_kind kind,
                    struct bus_message *message)
{
    struct seen *const seen = closure;

    seen->n_replies++;
    if (kind == BUS_REPLY && str_equal(bus_message_header(message, HEADER_OUTCOME), STR("ok")))
        seen->n_large += bus_message_body(message).n > PAGE_LEAST;
    bus_message_free(message);
}

static void ask_for_pages(struct bus *bus, const struct org *org)
{
    char id_text[UUID_TEXT + 1], deadline[24];
    const struct bus_header headers[] = {
        {HEADER_REQUEST_ID, id_text},
        {HEADER_DEADLINE, deadline},
        {HEADER_ORGANIZATION, org->id},
    };

    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + PATIENCE_MS);
    for (uint64_t i = 0; i < PAGES; i++) {
        const struct uuid id = uuid_v7(clock_us());

        uuid_format(&id, id_text);
        cr_assert_eq(bus_request(bus, SUBJECT_INBOX_LIST, i, headers, 3, STR("{\"per_page\":100}")),
                     ST_OK);
    }
}

static void forget_peak(pid_t pid)
{
    FILE *const file = fopen(format("/proc/%d/clear_refs", (int)pid), "we");

    cr_assert(file != NULL && fputs("5", file) >= 0 && fclose(file) == 0);
}

static long peak_kb(pid_t pid)
{
    FILE *const file = fopen(format("/proc/%d/status", (int)pid), "re");
    char line[256];
    long kb = 0;

    cr_assert_not_null(file);
    while (fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "VmHWM: %ld", &kb);
    fclose(file);
    cr_assert_gt(kb, 0);
    return kb;
}

Test(inbox_memory, few_large_pages_are_held_however_many_are_asked_for)
{
    const struct bus_options options = {.url = stack_setting("NATS_URL"), .name = "pages"};
    struct bus *const bus = bus_connect(&options);
    const pid_t pid = stack_pid("conversation-0");
    const int64_t until_us = clock_mono_us() + INT64_C(1000) * PATIENCE_MS;
    struct seen seen = {0};
    struct org org;

    org_new(&org);
    make_a_large_page(&org);
    bus_open_inbox(bus, on_page, &seen);
    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    forget_peak(pid);
    ask_for_pages(bus, &org);
    while (seen.n_replies < PAGES && clock_mono_us() < until_us)
        bus_wait(bus, 100);
    cr_expect_eq(seen.n_large, PAGES, "%d of %d replies", seen.n_large, seen.n_replies);
    cr_expect_leq(peak_kb(pid), lenient(PEAK_MOST_KB), "%ld KB", peak_kb(pid));
    bus_free(bus);
}
