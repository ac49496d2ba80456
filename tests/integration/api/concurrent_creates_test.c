/* Several replicas of the conversation service work as well as one: two creates that race in
   different replicas affect only each other. */
#include <criterion/criterion.h>

#include "tests/support/concurrent_creates.h"
#include "tests/support/measure.h"
#include "tests/support/sql.h"

/* Alone, so that the counters count only this test's requests. */
TestSuite(concurrent_creates, .init = stack_have_alone);

static void org_new_unlimited(struct org *org)
{
    org_new(org);
    json_decref(convctl("org", "set", org->id, "--rate-limit", "1000000", NULL));
}

static void assert_pairs_share(int n_replicas)
{
    struct replicas *const replicas = replicas_open(n_replicas);
    const long long failed = replicas_count(replicas, "conversations_batch_fallback_total");
    const int deadlocks = deadlocks_logged();
    struct pairs_seen seen;
    struct pairs *pairs;
    struct org org;

    org_new_unlimited(&org);
    pairs = pairs_begin(&org, true, 0);
    pairs_await(pairs, long_form_or(20000, 1000));
    seen = pairs_end(pairs);
    cr_expect_eq(seen.others, 0, "%d responses other than 201, such as %d", seen.others,
                 seen.example);
    /* Under a sanitizer, a batch may wait for longer than its lock timeout. */
    cr_expect_leq(replicas_count(replicas, "conversations_batch_fallback_total") - failed,
                  limit_scaled(1) - 1);
    cr_expect_eq(deadlocks_logged() - deadlocks, 0);
    cr_expect_eq(sql_integer("SELECT count(DISTINCT contact_id) FROM conversation.conversations "
                             "WHERE organization_id = $1::uuid",
                             org.id, NULL),
                 seen.made / 2);
    replicas_close(replicas);
}

Test(concurrent_creates, make_one_contact_in_two_replicas)
{
    assert_pairs_share(2);
}

Test(concurrent_creates, make_one_contact_in_five_replicas)
{
    assert_pairs_share(5);
}
