/* Many large pages requested at once: none is lost, and the service holds few at a time. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "proto/subject.h"
#include "tests/support/large_pages.h"
#include "tests/support/measure.h"
#include "tests/support/sql.h"

/* Alone: any other request for a page would wait until all of these are made. */
TestSuite(large_pages, .init = stack_have_alone);

/* Pages that are requested at once. */
struct burst {
    const char *process;
    const char *subject, *body;
    int n;
    size_t page_min;   /* bytes */
    long peak_most_kb; /* of the process that makes them */
};

/* Every page arrives or, if the slow lane does not reach it within 40 s, is refused; the process
   holds few at a time. */
static void expect_burst(const struct org *org, const struct burst *burst)
{
    const pid_t pid = stack_pid(burst->process);
    struct pages seen;

    measure_peak_from_now(pid);
    seen = pages_ask(org, burst->subject, burst->body, burst->n, burst->page_min);
    fprintf(stderr, "%s, %d at once: %ld KB\n", burst->subject, burst->n, measure_peak_kb(pid));
    cr_expect_gt(seen.n_large, burst->n / 8);
    cr_expect_eq(seen.n_large + seen.n_busy, burst->n, "%d and %d of %d replies", seen.n_large,
                 seen.n_busy, seen.n_replies);
    cr_expect_leq(measure_peak_kb(pid), limit_scaled(burst->peak_most_kb), "%ld KB",
                  measure_peak_kb(pid));
}

enum { PAGE_MIN = 1024 * 1024, LIST_MIN = 200 * 1024 };

Test(large_pages, of_the_inbox_are_held_a_few_at_a_time)
{
    static const struct burst burst = {
        .process = "conversation-0",
        .subject = SUBJECT_INBOX_LIST,
        .body = "{\"per_page\":100}",
        .n = 64,
        .page_min = PAGE_MIN,
        .peak_most_kb = 128 * 1024,
    };
    struct org org;

    org_new(&org);
    large_page_make(&org, "1");
    expect_burst(&org, &burst);
}

/* Keys with the longest names allowed; requested over the bus, where no rate limit applies. */
Test(large_pages, of_keys_stay_far_below_the_limit_of_memory)
{
    static const struct burst burst = {
        .process = "access-0",
        .subject = SUBJECT_ACCESS_KEY_LIST,
        .body = "{}",
        .n = 256,
        .page_min = LIST_MIN,
        .peak_most_kb = 160 * 1024,
    };
    struct org org;

    org_new(&org);
    cr_assert_eq(sql_integer("WITH made AS (INSERT INTO access.api_keys (organization_id,"
                             " api_key_id, token_hash, name, scope, prefix, last_four)"
                             " SELECT $1::uuid, gen_random_uuid(), sha256(i::text::bytea),"
                             " repeat(U&'\\+01F600', 255), 'read', 'svc_read_abcd', 'abcd'"
                             " FROM generate_series(1, 1000) i RETURNING 1)"
                             " SELECT count(*) FROM made",
                             org.id, NULL),
                 1000);
    expect_burst(&org, &burst);
}

/* One batch of these pages is more than the bus buffers for a socket that accepts no more. */
Test(large_pages, of_searches_are_all_answered_or_refused)
{
    static const struct burst burst = {
        .process = "search-0",
        .subject = SUBJECT_SEARCH_CONVERSATIONS,
        .body = LARGE_PAGE_SEARCH,
        .n = 256,
        .page_min = PAGE_MIN,
        .peak_most_kb = 208 * 1024, /* of the 256 MB that docker-compose.yml gives it */
    };
    struct org org;

    org_new(&org);
    large_page_make(&org, "1");
    expect_burst(&org, &burst);
}
