/* When lookups call back. c-ares answers for a literal IPv6 address before it returns. */
#include "services/webhook/dns_lookup.h"

#include <criterion/criterion.h>

#define LITERAL "2001:db8::1"

static struct dns_lookups *lookups;
static int n_told;
static size_t n_addresses;

static void on_done(void *closure, const struct address *addresses, size_t n)
{
    n_told++;
    n_addresses = n;
}

static void begin_another(void *closure, const struct address *addresses, size_t n)
{
    on_done(NULL, addresses, n);
    cr_assert_not_null(dns_lookup_begin(lookups, LITERAL, on_done, NULL));
}

static void abandon(void *closure, const struct address *addresses, size_t n)
{
    on_done(NULL, addresses, n);
    dns_lookup_abandon(*(struct dns_lookup **)closure);
}

static void process(void)
{
    dns_lookups_process(lookups, NULL, 0);
}

static void set_up(void)
{
    lookups = dns_lookups_new("127.0.0.1:9"); /* nothing listens there */
    cr_assert_not_null(lookups);
}

static void tear_down(void)
{
    dns_lookups_free(lookups);
}

TestSuite(dns_lookup, .init = set_up, .fini = tear_down);

Test(dns_lookup, reports_cached_results_in_the_next_step)
{
    cr_assert_not_null(dns_lookup_begin(lookups, LITERAL, on_done, NULL));
    cr_assert_eq(n_told, 0);
    cr_assert_eq(dns_lookups_timeout_ms(lookups, 1000), 0, "the step does not wait");
    process();
    cr_assert_eq(n_told, 1);
    cr_assert_eq(n_addresses, 1);
    process();
    cr_assert_eq(n_told, 1);
    cr_assert_eq(dns_lookups_timeout_ms(lookups, 1000), 1000);
}

Test(dns_lookup, reports_an_impossible_name_in_the_next_step)
{
    cr_assert_not_null(dns_lookup_begin(lookups, "two..dots", on_done, NULL));
    cr_assert_eq(n_told, 0);
    process();
    cr_assert_eq(n_told, 1);
    cr_assert_eq(n_addresses, 0);
}

Test(dns_lookup, runs_lookups_begun_by_a_callback_in_the_next_step)
{
    cr_assert_not_null(dns_lookup_begin(lookups, LITERAL, begin_another, NULL));
    process();
    cr_assert_eq(n_told, 1);
    process();
    cr_assert_eq(n_told, 2);
}

Test(dns_lookup, does_not_report_abandoned_lookups)
{
    struct dns_lookup *second;

    dns_lookup_abandon(dns_lookup_begin(lookups, LITERAL, on_done, NULL));
    process();
    cr_assert_eq(n_told, 0);
    cr_assert_not_null(dns_lookup_begin(lookups, LITERAL, abandon, &second));
    second = dns_lookup_begin(lookups, LITERAL, on_done, NULL);
    process();
    cr_assert_eq(n_told, 1, "not of one that is done and abandoned by a callback either");
}

Test(dns_lookup, reports_nothing_more_when_all_are_freed)
{
    cr_assert_not_null(dns_lookup_begin(lookups, LITERAL, on_done, NULL));
    cr_assert_not_null(dns_lookup_begin(lookups, "pending.test", on_done, NULL));
    dns_lookups_free(lookups);
    lookups = NULL;
    cr_assert_eq(n_told, 0);
}
