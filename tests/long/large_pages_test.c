/* Many large pages that are asked for at once: they all come, and few are held at a time. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/base/clock.h"
#include "common/base/uuid.h"
#include "common/bus/bus.h"
#include "proto/headers.h"
#include "proto/subject.h"
#include "tests/support/api.h"
#include "tests/support/large_page.h"
#include "tests/support/lenient.h"

/* Alone, since who else asks for a page waits until all of them are made. */
TestSuite(large_pages, .init = stack_have_alone, .timeout = 120);

enum {
    INBOX_PAGES = 64,
    SEARCH_PAGES = 40,
    PAGE_LEAST = 1024 * 1024,
    PATIENCE_MS = 50 * 1000,
    PEAK_MOST_KB = 128 * 1024
};

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
    snprintf(deadline, sizeof(deadline), "%" PRId64, clock_us() / 1000 + PATIENCE_MS);
    cr_assert_eq(bus_request(bus, subject, token, headers, 5, str_of(body)), ST_OK);
}

/* Returns when as many replies have come, or when it is too late for them. */
static struct seen see_pages(const struct org *org, const char *subject, const char *body, int n)
{
    const struct bus_options options = {.url = stack_setting("NATS_URL"), .name = "pages"};
    const int64_t until_us = clock_mono_us() + INT64_C(1000) * PATIENCE_MS;
    struct bus *const bus = bus_connect(&options);
    struct seen seen = {0};

    bus_open_inbox(bus, on_page, &seen);
    while (!bus_is_up(bus))
        bus_wait(bus, 10);
    for (int i = 0; i < n; i++)
        ask_for_page(bus, org, subject, body, (uint64_t)i);
    while (seen.n_replies < n && clock_mono_us() < until_us)
        bus_wait(bus, 100);
    bus_free(bus);
    return seen;
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

Test(large_pages, of_the_inbox_are_held_a_few_at_a_time)
{
    const pid_t pid = stack_pid("conversation-0");
    struct seen seen;
    struct org org;

    org_new(&org);
    large_page_make(&org, "1");
    forget_peak(pid);
    seen = see_pages(&org, SUBJECT_INBOX_LIST, "{\"per_page\":100}", INBOX_PAGES);
    cr_expect_eq(seen.n_large, INBOX_PAGES, "%d of %d replies", seen.n_large, seen.n_replies);
    cr_expect_leq(peak_kb(pid), lenient(PEAK_MOST_KB), "%ld KB", peak_kb(pid));
}

/* A batch of them is more than the bus keeps for a socket that takes no more. */
Test(large_pages, of_searches_are_all_answered)
{
    struct seen seen;
    struct org org;

    org_new(&org);
    large_page_make(&org, "1");
    seen = see_pages(&org, SUBJECT_SEARCH_CONVERSATIONS, LARGE_PAGE_SEARCH, SEARCH_PAGES);
    cr_expect_eq(seen.n_large, SEARCH_PAGES, "%d of %d replies", seen.n_large, seen.n_replies);
}
