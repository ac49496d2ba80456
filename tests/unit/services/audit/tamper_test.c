/*
 * The audit log after its database's owner has tampered with it without the signing key: one to
 * three changes at a time, drawn at random, to entries, blocks and retention notes. Verifying finds
 * each.
 *
 * TAMPER_SEED repeats a run; each failure names its draw. TEST_LONG=1: 2,000 draws.
 */
#include "tests/support/measure.h"
#include "tests/unit/services/audit/tamper_ways.h"

TestSuite(tamper, .init = start, .fini = stop);

enum { VACUUM_AFTER = 25 };

/* Rows that only one of the two tables has. */
#define DIFFERENCE(table)                                                                          \
    "((TABLE audit." #table " EXCEPT ALL TABLE kept_" #table ") UNION ALL"                         \
    " (TABLE kept_" #table " EXCEPT ALL TABLE audit." #table ")) AS " #table

/* The organizations whose audit log differs from the copy: one change may have undone another.
   Notes count for both. */
static void find_changed(bool is_changed[2])
{
    const char *changed =
        query("SELECT coalesce(string_agg(id::text, ' '), '') FROM"
              " unnest(ARRAY['" ORG "', '" OTHER "']::uuid[]) AS id WHERE"
              " EXISTS (SELECT FROM " DIFFERENCE(
                  dropped) ") OR id IN"
                           " (SELECT organization_id FROM " DIFFERENCE(
                               entries) " UNION ALL"
                                        "  SELECT organization_id FROM " DIFFERENCE(blocks) ")");

    for (int i = 0; i < 2; i++)
        is_changed[i] = strstr(changed, organizations[i]) != NULL;
}

/* Whether verifying finds it in each organization whose audit log was changed. */
static bool is_found(const bool is_changed[2])
{
    for (int i = 0; i < 2; i++)
        if (is_touched[i] && is_changed[i] && is_fine(organizations[i]))
            return false;
    return true;
}

Test(tamper, is_found_whatever_is_done)
{
    const uint64_t seed = seed_of_run();
    const int draws = long_form_or(2000, 120);
    int missed = 0, undone = 0;

    open_audit_log();
    for (int n = 0; n < draws; n++) {
        bool is_changed[2];
        int changes;
        int64_t touched = 0;

        if (n % VACUUM_AFTER == 0)
            say(owner, "VACUUM audit.entries, audit.blocks");
        seed_draw(seed, n);
        changes = 1 + (int)draw(3);
        put_back();
        memset(is_touched, 0, sizeof(is_touched));
        for (int i = 0; i < changes || touched == 0; i++)
            touched += change(n < (int)ARRAY_SIZE(ways) ? (size_t)n : draw(ARRAY_SIZE(ways)));
        find_changed(is_changed);
        undone += !is_changed[0] && !is_changed[1];
        if (!is_found(is_changed)) {
            missed++;
            cr_log_error("TAMPER_SEED=%llu, draw %d: missed\n%s", (unsigned long long)seed, n,
                         done);
        }
        arena_clear(&arena);
    }
    PQfinish(owner);
    cr_assert_leq(undone, draws / 20);
    cr_assert_eq(missed, 0, "%d of %d, TAMPER_SEED=%llu", missed, draws, (unsigned long long)seed);
}
